// Sources that are adapted jointly under weights that are trained with them: what DECISION and CAiDA share
// (docs/method.md, DECISION and CAiDA).
//
// One learner moves all sources. A step mixes their logits by the weights, and one optimiser takes the loss of the
// mixture to every backbone, every bottleneck and the weights; classifiers stay. What a method brings is the form of
// its weights and where its labels come from.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tributary/device/accelerator.h"
#include "tributary/methods/joint/source_mixture.h"
#include "tributary/methods/registry.h"
#include "tributary/train/sgd.h"

namespace tributary {

struct JointSettings {
  double rate_backbone = 1e-2, rate_bottleneck = 1e-2, rate_weights = 1e-2;
  MixtureLossWeights loss;
  bool mixed = false;  // precision
};

class JointLearner : public Learner {
 public:
  // `raw` is what the weights are made of, trained with the sources' parameters.
  JointLearner(Ensemble& ensemble, const JointSettings& settings, std::vector<Tensor> raw);

  std::vector<std::string> losses() const override;
  int64_t dropout_streams() const override { return ensemble_.size(); }
  Tensor step(const TargetBatch& batch) override;
  // The weights and the optimiser; what labels are made of is the method's.
  NamedTensors state() const override;

  // The weights as they are, float [m], on the simplex; gradients reach what they are made of.
  virtual Tensor weights() const = 0;

 protected:
  // The labels, int64 [b], of the pictures in `rows` under these weights; called without gradients, in a step.
  virtual Tensor labels(const Tensor& rows, const Tensor& weights) const = 0;

  // Every tensor that labels of this round are made from.
  virtual NamedTensors label_state() const = 0;

  Ensemble& ensemble_;
  JointSettings settings_;
  std::vector<Tensor> raw_;

 private:
  void each_source(const std::function<void(size_t)>& work);

  Sgd optimiser_;
  Branches branches_;
};

// A parameter with these values, float [n].
Tensor trained_tensor(const std::vector<float>& values, torch::Device device);

class JointMethod : public LearnedMethod {
 public:
  explicit JointMethod(const BaselineOptions& common) : common_(common) {}
  Division division() const override { return Division::kEither; }

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override;
  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override;
  // The weights of its learner, on logits.
  Mixture mixture() const override;

  // The one learner; the loss's weights are still to be set.
  virtual std::unique_ptr<JointLearner> learner(Ensemble& ensemble, const DeviceImages& images,
                                                const TrainingSchedule& schedule, JointSettings settings) const = 0;

 private:
  BaselineOptions common_;
  const JointLearner* learner_ = nullptr;  // lives while `adapt` runs
};

}  // namespace tributary
