// One source: backbone F, bottleneck B and classifier C (spec 10); phi = B(F(x)), z = C(phi).
//
// The classifier is trained with its source and frozen ever after: adaptation moves the features of the target domain
// to where the classifier expects them.
#pragma once

#include <memory>

#include "tributary/model/backbone.h"
#include "tributary/model/model_info.h"

namespace tributary {

class SourceModel {
 public:
  // A fresh model with the initial weights of spec 10, drawn from `init`.
  SourceModel(ModelInfo info, Random init, WeightNormInit classifier = WeightNormInit::kUniform);

  // phi: normalised pictures [n, 3, s, s] -> [n, feature_width]. A training pass (batch statistics, dropout, running
  // statistics moved) if `noise` is given, else an evaluation.
  Tensor features(const Tensor& x, Noise* noise = nullptr);
  // z: [n, feature_width] -> logits [n, classes].
  Tensor classify(const Tensor& phi) const { return classifier_(phi); }

  const ModelInfo& info() const { return info_; }
  void rename(std::string name) { info_.name = std::move(name); }

  NamedTensors backbone_parameters() const;
  NamedTensors bottleneck_parameters() const;
  NamedTensors classifier_parameters() const;
  // Every parameter and buffer under its name in model files.
  NamedTensors state() const;
  // Takes over the values of `state`, which must have the same names in the same order.
  void restore(const NamedTensors& state);

  torch::Device device() const { return classifier_.bias.device(); }
  void to(torch::Device device);

 private:
  ModelInfo info_;
  std::unique_ptr<Backbone> backbone_;
  Linear bottleneck_;
  BatchNorm bottleneck_bn_;
  WeightNormLinear classifier_;
};

// A copy of the values, which later training does not touch.
NamedTensors copy_of(const NamedTensors& tensors);

}  // namespace tributary
