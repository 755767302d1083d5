// The methods that ours is compared with, by name.
//
// A method is a file beside this one with a class that implements `Method`, usually a `LearnedMethod`, a function that
// describes it, and that function's line in `compared_methods`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/learner.h"

namespace tributary {

// What all of them take from the command line. Zero is the method's own choice.
struct BaselineOptions {
  uint64_t seed = 0;
  std::string benchmark;  // whose hyper-parameters to take; empty: by the kind of pictures
  int64_t epochs = 0, batch = 0;
  double rate_backbone = 0, rate_bottleneck = 0;
  Augmentation augmentation;
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;

  double backbone_rate(double own) const { return rate_backbone > 0 ? rate_backbone : own; }
  double bottleneck_rate(double own) const { return rate_bottleneck > 0 ? rate_bottleneck : own; }
  // A schedule of so many passes in batches of so many pictures, unless told otherwise.
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t own_batch, int64_t own_epochs) const;
};

// Whether the sources were made for photographs, else for digits.
bool for_photographs(const Ensemble& ensemble);

struct MethodEntry {
  std::string name;     // on the command line
  std::string title;    // in the paper's tables
  std::string summary;  // one line
  // Declares the options that only this method has; they may be set until `make`.
  std::function<void(OptionTable&)> declare;
  std::function<std::unique_ptr<Method>(const BaselineOptions&)> make;
};

// In the paper's order. Each call makes entries with options of their own.
std::vector<MethodEntry> compared_methods();

}  // namespace tributary
