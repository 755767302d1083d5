// Backbones F: pictures in, flat features out.
//
// The digit nets of spec 10: `lenet`, the small net of the demo, and `dtn`, the "variant of LeNet" of the paper's
// Digit-Five experiments. A new backbone is a class here and a line in `make_backbone`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/model/layers.h"

namespace tributary {

class Backbone {
 public:
  virtual ~Backbone() = default;
  // [n, 3, h, w] -> [n, width()]; a training pass if `noise` is given.
  virtual Tensor forward(const Tensor& x, Noise* noise) = 0;
  virtual int64_t width() const = 0;
  // The tensors under their names in model files, without the leading "backbone.".
  virtual TensorList tensors() const = 0;
};

// What is fixed about an architecture, before any weights.
struct Architecture {
  std::string name;
  int input_size;             // pictures are input_size x input_size
  double bottleneck_dropout;  // after the bottleneck's BatchNorm (spec 10, 2a: digits only)
  double backbone_rate;       // learning rate of F in source training and adaptation (spec 10, section 4)
};

// Throws an InputError that lists the known names if there is no such architecture.
const Architecture& architecture(const std::string& name);
std::vector<std::string> architecture_names();

std::unique_ptr<Backbone> make_backbone(const std::string& architecture, Random init);

}  // namespace tributary
