#include "tributary/train/sgd.h"

#include <fmt/format.h>

#include "tributary/device/accelerator.h"

namespace tributary {

void declare(OptionTable& table, const std::string& section, SgdOptions& options) {
  table.number(section, "momentum", &options.momentum, 0, 0.9999, "momentum");
  table.number(section, "weight_decay", &options.weight_decay, 0, 1, "weight decay, on every parameter");
  table.flag(section, "nesterov", &options.nesterov, "Nesterov momentum");
}

Sgd::Sgd(std::vector<SgdGroup> groups, SgdOptions options) : options_(options) {
  for (const SgdGroup& group : groups) {
    Group own{{}, {}, group.rate, group.clip};
    for (const NamedTensor& parameter : group.parameters) {
      own.sums.reduce_over(parameter.reduced_over);
      own.owner = parameter.owner;
      own.parameters.push_back(parameter.value);
      own.velocity.push_back(torch::zeros_like(parameter.value.detach()));
    }
    groups_.push_back(std::move(own));
  }
}

void Sgd::zero_gradients() {
  for (Group& group : groups_) {
    group.sums.forget();
    for (Tensor& parameter : group.parameters) parameter.mutable_grad() = Tensor();
  }
}

NamedTensors Sgd::state() const {
  NamedTensors all;
  for (size_t i = 0; i < groups_.size(); ++i)
    for (size_t k = 0; k < groups_[i].velocity.size(); ++k)
      all.push_back({fmt::format("velocity.{}.{}", i, k), groups_[i].velocity[k], nullptr, groups_[i].owner});
  return all;
}

void Sgd::begin_reduction(size_t group) {
  groups_[group].sums.begin(groups_[group].parameters);
}

namespace {

// Scales the gradients such that the norm of all of them is at most `largest`. Runs on the device, without waiting.
void clip(std::vector<Tensor>& slopes, double largest) {
  const Tensor norm = at::stack(at::_foreach_norm(slopes)).norm();
  scale_all(slopes, (largest / (norm + 1e-6)).clamp_max(1));
}

}  // namespace

template <typename Update>
void Sgd::each_group(Update update) {
  torch::NoGradGuard no_grad;
  for (Group& group : groups_) {
    std::vector<Tensor> values, velocity, slopes;
    const std::vector<Tensor> sums = group.sums.finish(group.parameters);
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      if (!group.parameters[i].grad().defined()) continue;
      values.push_back(group.parameters[i].detach());
      velocity.push_back(group.velocity[i]);
      slopes.push_back(sums[i]);
    }
    if (!values.empty() && group.clip > 0) clip(slopes, group.clip);
    if (!values.empty()) update(group.rate, values, slopes, velocity);
  }
}

void Sgd::step(double factor) {
  each_group([&](double rate, auto& values, auto& slopes, auto& velocity) {
    // The gradients are overwritten: nothing reads them after the step.
    sgd_direction(values, slopes, velocity, options_.momentum, options_.weight_decay, options_.nesterov);
    at::_foreach_add_(values, slopes, -rate * factor);
  });
}

void Sgd::step(const Tensor& factor) {
  each_group([&](double rate, auto& values, auto& slopes, auto& velocity) {
    sgd_step(values, slopes, velocity, factor * rate, options_.momentum, options_.weight_decay, options_.nesterov);
  });
}

}  // namespace tributary
