// The training loop of everything that trains here: source training, distillation, selective self-training and the
// methods it is compared with.
//
// A task says what a step draws and what it does. The loop turns the draws into a plan (train/step_plan.h), augments
// the pictures, reads them ahead if they do not lie on the device, runs the steps eagerly or as CUDA graphs
// (train/captured_steps.h), keeps their losses, and saves the state between steps. The state is never saved once a loss
// was not finite.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tributary/base/read_ahead.h"
#include "tributary/checkpoint/checkpointer.h"
#include "tributary/train/captured_steps.h"
#include "tributary/train/device_images.h"

namespace tributary {

// The random part of a step, drawn on the host.
struct StepDraws {
  struct Batch {
    Tensor rows;          // int64 [b], rows of the set
    Random augmentation;  // the random stream of its augmentation
    Tensor needed;        // positions in the batch that this process reads from files; undefined: all
  };
  std::vector<Batch> batches;
  std::vector<Tensor> indices;  // further int64 or float32 tensors, `LoopOptions::indices` of them
  std::vector<double> reals;    // numbers such as the factor of the learning rate
  std::vector<Random> dropout;  // one random stream per forward pass
};

// What a step works with, on the device.
struct StepInputs {
  struct Batch {
    Tensor rows;    // int64 [b]
    Tensor pixels;  // float [b, 3, s, s] in 0..1, augmented, channels last
  };
  std::vector<Batch> batches;
  const StepPlan& plan;
  std::vector<DropoutStream>& dropout_stream;

  Tensor index(size_t number) const { return plan.part(number); }
  Tensor real(size_t number) const { return plan.real(number); }
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;
  // What the losses of a step are called in errors: "cross-entropy of source 0".
  virtual std::vector<std::string> loss_terms() const = 0;
  // The draws of step `step`, counted from 1. Called once per step and in order, perhaps on another thread while the
  // step before runs.
  virtual StepDraws draw(int64_t step) = 0;
  // Called before step `step`, outside of any CUDA graph.
  virtual void before_step(int64_t /*step*/) {}
  // Runs a step and returns its losses, float [loss_terms().size()] on the device. It may be captured in a CUDA graph:
  // it works on device tensors alone, and what it keeps from step to step stays in the same memory.
  virtual Tensor step(const StepInputs& inputs) = 0;
};

struct LoopOptions {
  int64_t batch = 0;                                  // pictures in a full batch
  Augmentation augmentation;                          // with defaults resolved
  bool one_draw_per_batch = false;                    // all pictures of a batch share one draw of the augmentation
  bool cuda_graph = true;                             // capture steps where possible
  size_t indices = 0;                                 // tensors in `StepDraws::indices`
  std::string advice = "try smaller learning rates";  // the end of the error about a loss that is not finite
};

class TrainingLoop {
 public:
  using OnStep = std::function<void(std::span<const int64_t> batch_sizes)>;

  // `task` and `images` must outlive it.
  TrainingLoop(TrainingTask& task, const DeviceImages& images, LoopOptions options);
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  // Starts over at step 1 of `steps`. The task must draw from its first step on again.
  void start(int64_t steps);
  // Forgets the losses so far. Errors name `round`, and steps within it, unless it is 0.
  void begin_round(int64_t round);

  int64_t steps() const { return steps_; }
  int64_t done() const { return done_; }

  // Runs steps until `until` are done. Before each one the checkpointer may save what `take` returns, or throw
  // `Interrupted`. `on_step` is called after each one.
  void run(int64_t until, Checkpointer& checkpointer, const Checkpointer::Take& take, const OnStep& on_step = {});

  // The mean of each loss over the steps of the round; zeros before the first. A WorkError as `require_finite`.
  std::vector<double> mean_losses() const;
  // The losses of the last step.
  std::vector<double> last_losses() const;
  // Throws a WorkError that names round, step and term of the first loss of the round that is not finite.
  void require_finite() const;
  // Seconds of the round spent waiting for pictures to be read.
  double waited() const;

  // The loop's part of a checkpoint. `save` throws as `require_finite` does. `restore` follows `start`.
  void save(Checkpoint& checkpoint, const std::string& prefix) const;
  void restore(const Checkpoint& checkpoint, const std::string& prefix);

  // One planned step, for measurements. To be called within an OwnStream.
  StepPlan plan(const StepDraws& draws) const;
  Tensor run_step(const StepPlan& plan);

 private:
  std::vector<int64_t> batch_sizes(const StepPlan& plan) const;
  Tensor fetch(const std::vector<StepDraws::Batch>& batches) const;
  Tensor step(const StepPlan& plan, std::vector<DropoutStream>& dropout_stream);
  size_t parts_per_batch() const {
    return 2 + (options_.augmentation.moves() ? 1 : 0) + (options_.augmentation.recolours() ? 1 : 0);
  }
  Tensor history() const;  // double [steps of the round, terms] on the host

  TrainingTask& task_;
  const DeviceImages& images_;
  LoopOptions options_;
  CapturedSteps captured_;
  int64_t steps_ = 0, done_ = 0, drawn_ = 0, round_ = 0;
  std::vector<Tensor> losses_;                // of the steps of the round
  double waited_before_round_ = 0;            // seconds
  std::optional<ReadAhead<StepPlan>> plans_;  // last: its thread uses the others
};

}  // namespace tributary
