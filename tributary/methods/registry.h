// The methods that selective self-training is compared with, by name.
//
// A method is a folder with a class that implements `Method`, usually a `LearnedMethod`, and a function that describes
// it, which `compared_methods` lists.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/learner.h"

namespace tributary {

// Options that all of them share. Zero stands for the method's default.
struct BaselineOptions {
  uint64_t seed = 0;
  std::string benchmark;  // whose hyper-parameters apply; empty: those of the kind of pictures
  int64_t epochs = 0, batch = 0;
  double rate_backbone = 0, rate_bottleneck = 0;
  Augmentation augmentation;
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;

  double backbone_rate(double own) const { return rate_backbone > 0 ? rate_backbone : own; }
  double bottleneck_rate(double own) const { return rate_bottleneck > 0 ? rate_bottleneck : own; }
  // The schedule, with the method's own batch size and number of epochs as defaults.
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t own_batch, int64_t own_epochs) const;
};

// Whether the sources take photographs; otherwise digits.
bool for_photographs(const Ensemble& ensemble);

struct MethodEntry {
  std::string name;     // on the command line
  std::string title;    // in the paper's tables
  std::string summary;  // one line
  // Declares the options of this method alone; they may be set until `make`.
  std::function<void(OptionTable&)> declare;
  std::function<std::unique_ptr<Method>(const BaselineOptions&)> make;
};

// In the paper's order. The entries of each call have options of their own.
std::vector<MethodEntry> compared_methods();

}  // namespace tributary
