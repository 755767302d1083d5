#include "tributary/model/conv_blocks.h"

namespace tributary {

void add_activation(Network& net, ActivationChoice function) {
  if (function)
    net.then(Activation{*function});
  else
    net.then(Relu{});
}

void add_squeeze(Network& net, const SqueezeShape& shape, LayerName reduce, LayerName expand, const Init& init) {
  const int input = net.last();
  net.then(AveragePool{1});
  net.then(Conv2d({shape.channels, shape.squeezed, 1}, Start::kFanOut, child(init, 0)), std::move(reduce));
  add_activation(net, shape.activation);
  net.then(Conv2d({shape.squeezed, shape.channels, 1}, Start::kFanOut, child(init, 1)), std::move(expand));
  net.then(Activation{shape.gate});
  net.add(Multiply{}, {input, net.last()});
}

}  // namespace tributary
