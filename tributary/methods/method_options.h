// The options that all methods have in common.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/train/augmentation.h"
#include "tributary/train/precision.h"
#include "tributary/train/trained_layers.h"

namespace tributary {

struct TrainingSchedule;
struct Ensemble;

struct MethodOptions {
  int64_t seed = 0;
  std::string benchmark;        // take the hyper-parameters of this benchmark; empty: by the kind of pictures
  int64_t epochs = 0;           // 0: the method's default
  int64_t batch = 0;            // 0: the method's default
  double rate_backbone = 0;     // 0: the method's default
  double rate_bottleneck = -1;  // negative: the method's default
  BackboneTraining backbone;
  Augmentation augmentation;
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;

  double backbone_rate(double default_rate) const { return rate_backbone > 0 ? rate_backbone : default_rate; }
  double bottleneck_rate(double default_rate) const { return rate_bottleneck > 0 ? rate_bottleneck : default_rate; }
  // The schedule of a method with these defaults (methods/learner.h).
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t default_batch, int64_t default_epochs) const;
};

// Declares all fields but `epochs`, the seed at the top level and the others in the section [adapt].
void declare(OptionTable& table, MethodOptions& options);

}  // namespace tributary
