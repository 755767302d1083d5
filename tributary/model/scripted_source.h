// A source that came as a TorchScript module: any architecture, brought by its owner.
//
// TorchScript is code, so a file is only loaded where the user said that it is trusted. The module has the methods
// `features(x)` and `classify(phi)`, or a `forward` that ends in a linear layer of a known name: that layer then is the
// classifier and its input the features.
#pragma once

#include <memory>
#include <string>

#include "tributary/io/model_info.h"
#include "tributary/model/source_body.h"

namespace tributary {

class ScriptedSource : public SourceBody {
 public:
  // Runs the module that `bytes` hold on two pictures of `size` x `size` to see what it gives. An InputError names
  // `file` and what is missing or of the wrong shape. `last_layer` may be empty.
  ScriptedSource(const std::string& bytes, const std::string& file, const std::string& last_layer, int size);
  ~ScriptedSource() override;

  Tensor features(const Tensor& x, DropoutStream* dropout_stream) override;
  Tensor classify(const Tensor& phi) const override;
  TensorList backbone() const override;
  TensorList bottleneck() const override { return {}; }
  TensorList classifier() const override;

  int64_t feature_width() const { return feature_width_; }
  int64_t classes() const { return classes_; }
  // The module with its present weights as the content of a TorchScript file.
  std::string bytes() const;

 private:
  struct Script;  // keeps Torch's slow headers out of this one
  void probe(const std::string& file, int size);

  std::unique_ptr<Script> script_;
  int64_t feature_width_ = 0, classes_ = 0;
};

}  // namespace tributary
