// Base of the methods that train on the target set step by step.
//
// Such a method has one `Learner` per source, or one for all of them. Batches, augmentation, CUDA graphs, checkpoints
// and reports are shared (train/training_loop.h). One evaluation pass per round serves the report and the next round's
// labels. Learners of single sources alternate round by round, so that every round can report an ensemble.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/method.h"
#include "tributary/train/device_images.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/precision.h"

namespace tributary {

// How long a learner trains, and on which batches.
struct TrainingSchedule {
  uint64_t seed = 0;
  int64_t batch = 64;
  int64_t rounds = 15;              // an evaluation follows each; new labels may be made before each
  int64_t steps = 0;                // total; 0: one epoch per round
  bool whole_batches = false;       // drops the partial batch at the end of an epoch
  bool decay = true;                // learning rates fall as (1 + 10 i/I)^-0.75
  int64_t first_step = 1;           // i of the first step in that formula
  Augmentation augmentation;        // with defaults resolved
  bool one_draw_per_batch = false;  // all pictures of a batch are augmented alike
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;
};

// One batch of the target set, on the device.
struct TargetBatch {
  Tensor rows;         // int64 [b], which pictures
  Tensor pixels;       // float [b, 3, s, s] in 0..1, augmented
  Tensor rate_factor;  // float [], multiplies the learning rates
  Tensor progress;     // float [], steps done before this one
  std::vector<DropoutStream>& dropout_stream;
  // Defined if the learner mixes pictures.
  Tensor partner = {};  // int64 [b], a permutation: the row that each row is mixed with
  Tensor ratio = {};    // float [b], lambda_i, the share of the row itself
};

class Learner {
 public:
  virtual ~Learner() = default;
  // Names of the losses that a step returns, for the log.
  virtual std::vector<std::string> losses() const = 0;
  // Dropout streams that a step draws from.
  virtual int64_t dropout_streams() const { return 1; }
  // If positive, the step mixes every picture with a partner in a ratio from Beta(alpha, alpha) (`TargetBatch`).
  virtual double mixup_alpha() const { return 0; }
  // Called before the first step of a round. `target` holds the outputs of every source on the target set, in
  // evaluation.
  virtual void begin_round(int64_t /*round*/, const std::vector<Outputs>& /*target*/) {}
  // Runs one step and returns its losses, float [losses().size()] on the device. The step may be captured in a CUDA
  // graph, so what it keeps from step to step must stay in the same tensors.
  virtual Tensor step(const TargetBatch& batch) = 0;
  // `refresh` is called before the first step and then every `refresh_every` steps, also within a round, with the
  // number of the call from 0 on; 0: never.
  virtual int64_t refresh_every() const { return 0; }
  virtual void refresh(int64_t /*number*/) {}
  // Every tensor that later steps depend on, except those of the sources. Checkpoints save it.
  virtual NamedTensors state() const = 0;
};

// Includes parameters in training: another method may have frozen them.
inline void unfreeze(NamedTensors parameters) {
  for (NamedTensor& parameter : parameters) parameter.value.set_requires_grad(true);
}

// Excludes parameters from training.
inline void freeze(NamedTensors parameters) {
  for (NamedTensor& parameter : parameters) parameter.value.set_requires_grad(false);
}

class LearnedMethod : public Method {
 public:
  using Method::adapt;
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) override;
  // The schedule for these sources and this number of pictures.
  virtual TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const = 0;

 protected:
  virtual std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                         const TrainingSchedule& schedule) = 0;
  // How the sources are combined now; by default the mean of their probabilities.
  virtual Mixture mixture() const { return {}; }
};

}  // namespace tributary
