// Selective self-training as a task of the training loop: what the steps of a round draw, and what they do.
//
// Batches at the end of an epoch are smaller than the others. Late in an adaptation, when few unconfident pictures are
// left, half of all steps are of that kind. They are captured in CUDA graphs too, and forgotten with the round. Steps
// with TorchScript sources are never captured.
#pragma once

#include <optional>

#include "tributary/methods/selective/round_batches.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/train/training_loop.h"

namespace tributary {

// The random streams of a step.
struct StepRandom {
  Random confident_augmentation, unconfident_augmentation, mixing, dropout;
};

class SelectiveTask : public TrainingTask {
 public:
  // All of the first three must outlive it. `weights_samples`: samples have weights in the cross-entropy.
  SelectiveTask(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options, bool weights_samples);
  SelectiveTask(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options)
      : SelectiveTask(ensemble, images, options, options.sample_weights) {}
  SelectiveTask(const SelectiveTask&) = delete;
  SelectiveTask& operator=(const SelectiveTask&) = delete;

  LoopOptions loop_options() const;

  // The steps to come are those of `round`, and train on `selection`. Undefined weights of samples [n] are 1, an
  // undefined class prior [K] is uniform.
  void begin_round(const Selection& selection, const Tensor& sample_weight, const Tensor& prior, int64_t round);
  void begin_round(const Selection& selection, int64_t round) { begin_round(selection, {}, {}, round); }
  const RoundBatches& batches() const { return *batches_; }

  // Cross-entropy and information loss of each source, adversarial and discriminator loss.
  std::vector<std::string> loss_terms() const override;
  StepDraws draw(int64_t step) override;
  // A step on the given rows of the target set.
  StepDraws draw(const StepRows& rows, const StepRandom& random, double rate_factor) const;
  Tensor step(const StepInputs& inputs) override;

  // Pictures that a step with batches of these sizes sends through each source.
  int64_t pictures(std::span<const int64_t> batch_sizes) const;

  // Every tensor that later steps depend on, except those of the sources.
  NamedTensors state() const { return step_.state(); }

 private:
  Ensemble& ensemble_;
  const SelectiveOptions& options_;
  SelectiveStep step_;
  Tensor label_;          // int64 [n] on the device, the pseudo-labels of the round
  Tensor source_label_;   // int64 [m, n] on the device, if sources have labels of their own
  Tensor sample_weight_;  // float [n] on the device, if samples are weighted
  int64_t round_ = 0;
  std::optional<RoundBatches> batches_;
};

}  // namespace tributary
