#include "tributary/train/adam.h"

#include "tributary/base/error.h"

namespace tributary {
namespace {

// Tensors concatenated to one vector.
Tensor flattened(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
  return at::cat(flat);
}

// The parts of a flat vector that belong to the given tensors, in their shapes.
std::vector<Tensor> parts_of(const Tensor& flat, const std::vector<Tensor>& like) {
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const Tensor& tensor : like) {
    parts.push_back(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return parts;
}

}  // namespace

Adam::Adam(const std::vector<AdamGroup>& groups, AdamOptions options) : options_(options) {
  for (const AdamGroup& group : groups) {
    if (group.parameters.empty()) continue;
    const size_t begin = parameters_.size();
    int64_t count = 0;
    for (const NamedTensor& parameter : group.parameters) {
      parameters_.push_back(parameter.value);
      count += parameter.value.numel();
    }
    const Tensor none = torch::zeros({count}, parameters_.back().options().requires_grad(false));
    groups_.push_back({begin, parameters_.size(), none, none.clone(), group.rate});
  }
  TRIBUTARY_CHECK(!parameters_.empty(), "nothing to optimise");
  steps_ = torch::zeros({}, at::device(parameters_.front().device()).dtype(torch::kFloat64));
}

NamedTensors Adam::state() const {
  NamedTensors all = {{"steps", steps_}};
  for (size_t i = 0; i < groups_.size(); ++i) {
    all.push_back({fmt::format("first.{}", i), groups_[i].first});
    all.push_back({fmt::format("second.{}", i), groups_[i].second});
  }
  return all;
}

void Adam::step(const std::vector<Tensor>& gradients, const Tensor& factor, const Tensor& active) {
  TRIBUTARY_CHECK(gradients.size() == parameters_.size(), "{} gradients for {} parameters", gradients.size(),
                  parameters_.size());
  torch::NoGradGuard no_grad;
  const Tensor off = active.defined() ? active <= 0 : Tensor();
  const auto assign = [&](const Tensor& old, const Tensor& fresh) {
    old.copy_(off.defined() ? at::where(off, old, fresh) : fresh);
  };
  assign(steps_, steps_ + 1);
  const Tensor steps = steps_.clamp_min(1);
  const Tensor correction = 1 - at::pow(options_.beta1, steps);
  const Tensor deviation = (1 - at::pow(options_.beta2, steps)).sqrt();
  for (Group& group : groups_) {
    const auto own = [&](const std::vector<Tensor>& all) {
      return std::vector<Tensor>(all.begin() + static_cast<int64_t>(group.begin),
                                 all.begin() + static_cast<int64_t>(group.end));
    };
    const Tensor slope = flattened(own(gradients));
    assign(group.first, at::lerp(group.first, slope, 1 - options_.beta1));
    assign(group.second, at::addcmul(group.second * options_.beta2, slope, slope, 1 - options_.beta2));
    Tensor rate = group.rate / correction;
    if (factor.defined()) rate = rate * factor;
    Tensor update = group.first / (group.second.sqrt() / deviation + options_.epsilon) * rate;
    // Subtracting +0 changes no number, not even -0.
    if (off.defined()) update = update.masked_fill(off, 0);
    std::vector<Tensor> values;
    for (const Tensor& parameter : own(parameters_)) values.push_back(parameter.detach());
    at::_foreach_sub_(values, parts_of(update, values));
  }
}

}  // namespace tributary
