#include "tributary/model/backbone.h"

#include <fmt/ranges.h>

#include "tributary/base/error.h"

namespace tributary {
namespace {

class LeNet : public Backbone {
 public:
  explicit LeNet(Random init) : conv1_(3, 20, 5, 1, 0, init.child(0)), conv2_(20, 50, 5, 1, 0, init.child(1)) {}

  Tensor forward(const Tensor& x, Noise* noise) override {
    Tensor h = at::max_pool2d(conv1_(x), {2, 2}).relu_();
    h = at::max_pool2d(dropout_channels(conv2_(h), 0.5, noise), {2, 2}).relu_();
    return h.contiguous().flatten(1);
  }

  int64_t width() const override { return 1250; }

  TensorList tensors() const override {
    TensorList list;
    conv1_.list("conv1", list);
    conv2_.list("conv2", list);
    return list;
  }

 private:
  Conv2d conv1_, conv2_;
};

class Dtn : public Backbone {
 public:
  explicit Dtn(Random init)
      : conv1_(3, 64, 5, 2, 2, init.child(0)),
        conv2_(64, 128, 5, 2, 2, init.child(1)),
        conv3_(128, 256, 5, 2, 2, init.child(2)),
        bn1_(64),
        bn2_(128),
        bn3_(256) {}

  Tensor forward(const Tensor& x, Noise* noise) override {
    Tensor h = dropout_channels(bn1_(conv1_(x), noise), 0.1, noise).relu();
    h = dropout_channels(bn2_(conv2_(h), noise), 0.3, noise).relu();
    h = dropout_channels(bn3_(conv3_(h), noise), 0.5, noise).relu();
    return h.contiguous().flatten(1);
  }

  int64_t width() const override { return 4096; }

  // Numbered as the research scripts' sequence of convolution, BatchNorm, dropout and ReLU.
  TensorList tensors() const override {
    TensorList list;
    conv1_.list("conv_params.0", list);
    bn1_.list("conv_params.1", list);
    conv2_.list("conv_params.4", list);
    bn2_.list("conv_params.5", list);
    conv3_.list("conv_params.8", list);
    bn3_.list("conv_params.9", list);
    return list;
  }

 private:
  Conv2d conv1_, conv2_, conv3_;
  BatchNorm bn1_, bn2_, bn3_;
};

struct Entry {
  Architecture fixed;
  std::unique_ptr<Backbone> (*make)(Random);
};

template <typename T>
std::unique_ptr<Backbone> make(Random init) {
  return std::make_unique<T>(init);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"lenet", 32, 0.5, 1e-2}, make<LeNet>},
      {{"dtn", 32, 0.5, 1e-2}, make<Dtn>},
  };
  return all;
}

const Entry& entry(const std::string& name) {
  for (const Entry& known : entries())
    if (known.fixed.name == name) return known;
  input_error("there is no architecture '{}'; choose one of: {}", name, fmt::join(architecture_names(), ", "));
}

}  // namespace

const Architecture& architecture(const std::string& name) {
  return entry(name).fixed;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Entry& known : entries()) names.push_back(known.fixed.name);
  return names;
}

std::unique_ptr<Backbone> make_backbone(const std::string& architecture, Random init) {
  return entry(architecture).make(init);
}

}  // namespace tributary
