// A source model: phi = B(F(x)), z = C(phi).
//
// The classifier C is trained on the source domain and frozen afterwards. Adaptation moves the target features to where
// the classifier expects them.
#pragma once

#include <memory>

#include "tributary/model/backbone.h"
#include "tributary/model/class_sets.h"
#include "tributary/model/sharded_pass.h"
#include "tributary/model/source_body.h"

namespace tributary {

class LayeredSource;
class ScriptedSource;

class SourceModel {
 public:
  // A model of our own layers with initial weights drawn from `init`, or uninitialised if that is empty.
  SourceModel(ModelInfo info, const Init& init, Start classifier = Start::kDefault);
  SourceModel(ModelInfo info, std::unique_ptr<SourceBody> body);

  // phi: normalised pictures [n, 3, s, s] -> [n, feature_width]. A training pass (batch statistics, dropout, update of
  // the running statistics) if `dropout_stream` is given, else an evaluation.
  Tensor features(const Tensor& x, DropoutStream* dropout_stream = nullptr) {
    return body_->features(x, dropout_stream);
  }
  // features() in evaluation on this rank only, even if the source is sharded.
  Tensor features_alone(const Tensor& x);
  // z: [n, feature_width] -> logits [n, classes]; 0 for classes that the source does not know.
  Tensor classify(const Tensor& phi) const { return output_map_.apply(body_->classify(phi)); }

  const ModelInfo& info() const { return info_; }
  void rename(std::string name) { info_.name = std::move(name); }
  void rename_classes(std::vector<std::string> names) { info_.classes = std::move(names); }  // in the same order
  // Gives the source the classes `names`; outputs[o] is the class of output o of its classifier. Outputs of one class
  // are merged, and the source does not know a class without outputs.
  void set_classes(std::vector<std::string> names, std::vector<int64_t> outputs);
  // The class of every output.
  std::vector<int64_t> outputs() const;
  // bool [K]: the classes that the source knows; undefined if it knows all.
  const Tensor& known() const { return output_map_.known(); }
  const OutputMap& output_map() const { return output_map_; }

  // The calibration of the present weights; none once they are trained further.
  void set_calibration(std::optional<Calibration> calibration) { info_.calibration = std::move(calibration); }

  // The file that the model came from, for messages; its name if there is none.
  std::string origin() const { return file_.empty() ? info_.name : file_; }
  void set_file(std::string file) { file_ = std::move(file); }

  NamedTensors backbone_parameters() const { return body_->backbone().parameters; }
  NamedTensors bottleneck_parameters() const { return body_->bottleneck().parameters; }
  NamedTensors classifier_parameters() const { return body_->classifier().parameters; }
  // Number of scalar parameters in F, B and C.
  int64_t parameter_count() const;
  // Every parameter and buffer under its name in model files.
  NamedTensors state() const;
  // Copies the values of `state`, which must have the same names in the same order.
  void restore(const NamedTensors& state);

  // Shards all further passes (sharded_pass.h). TorchScript sources are not sharded: every rank runs them in full.
  void shard(const Sharding& sharding);
  const Sharding& sharding() const { return sharding_; }

  torch::Device device() const;
  void to(torch::Device device);

  // Whether passes can be captured in a CUDA graph: only those of our own layers, with memory for
  // whole passes.
  bool capturable() const;

  // The body if it is of that kind, else null.
  const LayeredSource* layered() const;
  LayeredSource* layered();
  const ScriptedSource* scripted() const;

 private:
  ModelInfo info_;
  std::string file_;
  std::unique_ptr<SourceBody> body_;
  OutputMap output_map_;
  Sharding sharding_;
};

// Deep copy, detached from the model.
NamedTensors copy_of(const NamedTensors& tensors);

}  // namespace tributary
