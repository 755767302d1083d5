// One source: phi = B(F(x)), z = C(phi) (spec 10).
//
// The classifier is trained with its source and frozen ever after: adaptation moves the features of the target domain
// to where the classifier expects them.
#pragma once

#include <memory>

#include "tributary/model/backbone.h"
#include "tributary/model/sharded_pass.h"
#include "tributary/model/source_body.h"

namespace tributary {

class LayeredSource;
class ScriptedSource;

class SourceModel {
 public:
  // A model of our own layers with the first weights of spec 10, drawn from `init`, or with none yet.
  SourceModel(ModelInfo info, const Init& init, Start classifier = Start::kDefault);
  SourceModel(ModelInfo info, std::unique_ptr<SourceBody> body);

  // phi: normalised pictures [n, 3, s, s] -> [n, feature_width]. A training pass (batch statistics, dropout, running
  // statistics moved) if `dropout_stream` is given, else an evaluation.
  Tensor features(const Tensor& x, DropoutStream* dropout_stream = nullptr) {
    return body_->features(x, dropout_stream);
  }
  // The same in evaluation by this process alone, whoever shares the source's passes.
  Tensor features_alone(const Tensor& x);
  // z: [n, feature_width] -> logits [n, classes].
  Tensor classify(const Tensor& phi) const { return body_->classify(phi); }

  const ModelInfo& info() const { return info_; }
  void rename(std::string name) { info_.name = std::move(name); }

  NamedTensors backbone_parameters() const { return body_->backbone().parameters; }
  NamedTensors bottleneck_parameters() const { return body_->bottleneck().parameters; }
  NamedTensors classifier_parameters() const { return body_->classifier().parameters; }
  // Scalars that training moves, in all three parts.
  int64_t parameter_count() const;
  // Every parameter and buffer under its name in model files.
  NamedTensors state() const;
  // Takes over the values of `state`, which must have the same names in the same order.
  void restore(const NamedTensors& state);

  // From here on ranks share its passes (shared_pass.h). What is TorchScript every rank does for itself.
  void shard(const Sharding& sharding);
  const Sharding& sharding() const { return sharding_; }

  torch::Device device() const;
  void to(torch::Device device);

  // Whether passes can be recorded on a GPU: by our own layers, and of whole batches.
  bool capturable() const;

  // The body, if it is of our own layers, or TorchScript; else null.
  const LayeredSource* layered() const;
  LayeredSource* layered();
  const ScriptedSource* scripted() const;

 private:
  ModelInfo info_;
  std::unique_ptr<SourceBody> body_;
  Sharding sharding_;
};

// A copy of the values, which later training does not touch.
NamedTensors copy_of(const NamedTensors& tensors);

}  // namespace tributary
