// Joint adaptation of all sources and their weights, shared by DECISION and CAiDA (docs/baselines.md).
//
// One learner trains all sources. A step mixes their logits with the weights, and one optimiser minimises the loss of
// the mixture over every backbone, every bottleneck and the weights; classifiers are frozen. The methods differ in the
// form of their weights and in their pseudo-labels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tributary/device/accelerator.h"
#include "tributary/methods/joint/source_mixture.h"
#include "tributary/methods/registry.h"
#include "tributary/train/sgd.h"
#include "tributary/train/trained_layers.h"

namespace tributary {

struct JointSettings {
  BackboneTraining backbone;
  double rate_backbone = 1e-2, rate_bottleneck = 1e-2, rate_weights = 1e-2;
  MixtureLossWeights loss;
  bool mixed = false;  // mixed precision
};

class JointLearner : public Learner {
 public:
  // `raw` holds the unconstrained parameters of the weights, which are trained together with the sources.
  JointLearner(Ensemble& ensemble, const JointSettings& settings, std::vector<Tensor> raw);

  std::vector<std::string> losses() const override;
  int64_t dropout_streams() const override { return ensemble_.size(); }
  Tensor step(const TargetBatch& batch) override;
  // The state of the weights, the optimiser and `label_state`.
  NamedTensors state() const override;

  // The current weights, float [m], on the simplex, differentiable in `raw`.
  virtual Tensor weights() const = 0;

 protected:
  // The labels, int64 [b], of the pictures in `rows` under these weights. Called within a step, without gradients.
  virtual Tensor labels(const Tensor& rows, const Tensor& weights) const = 0;

  // All tensors that determine the labels of this round.
  virtual NamedTensors label_state() const = 0;

  Ensemble& ensemble_;
  JointSettings settings_;
  std::vector<Tensor> raw_;

 private:
  void each_source(const std::function<void(size_t)>& work);

  Sgd optimiser_;
  Branches branches_;
};

// A trainable parameter with these values, float [n].
Tensor trained_tensor(const std::vector<float>& values, torch::Device device);

class JointMethod : public LearnedMethod {
 public:
  explicit JointMethod(const MethodOptions& common) : common_(common) {}
  HeldPasses held_passes() const override { return {.of_all_sources = true}; }
  SupportedSharding supported_sharding() const override { return SupportedSharding::kEither; }

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override;
  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override;
  // Logits mixed with the learner's weights.
  Mixture mixture() const override;

  // Creates the learner and sets the loss weights in `settings`.
  virtual std::unique_ptr<JointLearner> learner(Ensemble& ensemble, const DeviceImages& images,
                                                const TrainingSchedule& schedule, JointSettings settings) const = 0;

 private:
  MethodOptions common_;
  const JointLearner* learner_ = nullptr;  // valid while `adapt` runs
};

}  // namespace tributary
