// Methods that pass over the target set step by step: what they share, and what each brings.
//
// A method of this kind is one `Learner` a source, or one for all of them. Everything else is common: batches are
// drawn, changed and planned as ours are, steps are recorded on a GPU, one evaluation pass after every round serves
// reports and the next round's labels alike. Learners of single sources go through their rounds side by side, so that
// after each round there is an ensemble to look at.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/method.h"
#include "tributary/train/batches.h"
#include "tributary/train/captured_steps.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/precision.h"

namespace tributary {

// How a learner passes over the target set.
struct Course {
  uint64_t seed = 0;
  int64_t batch = 64;
  int64_t rounds = 15;         // after each there is an evaluation, and before each a chance to make new labels
  int64_t steps = 0;           // in all; 0: `rounds` passes over the set
  bool whole_batches = false;  // leaves out the smaller batch at the end of a pass
  bool decay = true;           // learning rates fall as (1 + 10 i/I)^-0.75
  int64_t first_step = 1;      // i of the first step in that formula
  Augmentation augmentation;   // settled
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;
};

// One batch of the target set, on the device.
struct TargetBatch {
  Tensor rows;         // int64 [b], which pictures
  Tensor pixels;       // float [b, 3, s, s] in 0..1, changed for training
  Tensor rate_factor;  // float [], what the learning rates are multiplied with
  Tensor progress;     // float [], steps done before this one
  std::vector<DropoutStream>& dropout_stream;
};

class Learner {
 public:
  virtual ~Learner() = default;
  // The losses that a step returns, for the log.
  virtual std::vector<std::string> losses() const = 0;
  // Dropout streams that a step draws from.
  virtual int64_t dropout_streams() const { return 1; }
  // Before the first step of a round. `target` is what every source of the ensemble makes of the target set now, in
  // evaluation.
  virtual void begin_round(int64_t /*round*/, const std::vector<Outputs>& /*target*/) {}
  // One step; its losses, float [losses().size()], on the device. What it keeps from step to step must stay in the same
  // tensors, because the step may be recorded.
  virtual Tensor step(const TargetBatch& batch) = 0;
  // Called before the first step and then every `refresh_every` steps, also in the midst of a round, with the number of
  // the call from 0 on; 0: never.
  virtual int64_t refresh_every() const { return 0; }
  virtual void refresh(int64_t /*number*/) {}
  // Every tensor that coming steps depend on, beside those of the sources: what an interrupted run needs to go on.
  virtual NamedTensors state() const = 0;
};

// Keeps parameters out of training.
inline void freeze(NamedTensors parameters) {
  for (NamedTensor& parameter : parameters) parameter.value.set_requires_grad(false);
}

class LearnedMethod : public Method {
 public:
  using Method::adapt;
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) override;

 protected:
  // The numbers of the course, once the sources and the number of pictures are known.
  virtual Course course(const Ensemble& ensemble, int64_t pictures) const = 0;
  virtual std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                         const Course& course) = 0;
  // How the sources are put together now; the mean of their probabilities unless a method knows better.
  virtual Mixture mixture() const { return {}; }
};

}  // namespace tributary
