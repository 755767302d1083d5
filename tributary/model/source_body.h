// Interface of a source model's implementation: our own layers (LayeredSource) or a TorchScript module
// (ScriptedSource).
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

class SourceBody {
 public:
  virtual ~SourceBody() = default;
  // See SourceModel.
  virtual Tensor features(const Tensor& x, DropoutStream* dropout_stream) = 0;
  virtual Tensor classify(const Tensor& phi) const = 0;
  // The tensors of F, B and C under their names in model files.
  virtual TensorList backbone() const = 0;
  virtual TensorList bottleneck() const = 0;
  virtual TensorList classifier() const = 0;
};

}  // namespace tributary
