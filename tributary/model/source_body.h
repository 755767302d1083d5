// What a source is made of: our own layers, or a TorchScript module that somebody brought along.
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

class SourceBody {
 public:
  virtual ~SourceBody() = default;
  // phi, a training pass if `dropout_stream` is given, and z; see SourceModel.
  virtual Tensor features(const Tensor& x, DropoutStream* dropout_stream) = 0;
  virtual Tensor classify(const Tensor& phi) const = 0;
  // The tensors of each part under their names in model files.
  virtual TensorList backbone() const = 0;
  virtual TensorList bottleneck() const = 0;
  virtual TensorList classifier() const = 0;
};

}  // namespace tributary
