// A source model imported as a TorchScript module of any architecture.
//
// TorchScript is code, so files are only loaded if the user declared them trusted. The module either has the methods
// `features(x)` and `classify(phi)`, or a `forward` that ends in a linear layer whose name the user gives; that layer
// is the classifier and its input the features.
#pragma once

#include <memory>
#include <string>

#include "tributary/io/model_info.h"
#include "tributary/model/source_body.h"

namespace tributary {

class ScriptedSource : public SourceBody {
 public:
  // Loads the module from `bytes` and runs it on two pictures of `size` x `size` to learn its shapes. Throws an
  // InputError that names `file` if a method or layer is missing or a shape is wrong. `last_layer` may be empty.
  ScriptedSource(const std::string& bytes, const std::string& file, const std::string& last_layer, int size);
  ~ScriptedSource() override;

  Tensor features(const Tensor& x, DropoutStream* dropout_stream) override;
  Tensor classify(const Tensor& phi) const override;
  TensorList backbone() const override;
  TensorList bottleneck() const override { return {}; }
  TensorList classifier() const override;

  int64_t feature_width() const { return feature_width_; }
  int64_t classes() const { return classes_; }
  // The module with its current weights, serialised as a TorchScript file.
  std::string bytes() const;

 private:
  struct Script;  // keeps the slow TorchScript headers out of this file
  void probe(const std::string& file, int size);

  std::unique_ptr<Script> script_;
  int64_t feature_width_ = 0, classes_ = 0;
};

}  // namespace tributary
