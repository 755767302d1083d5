#include "tributary/adapt/alignment.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

namespace tributary {
namespace {

Tensor against(const Tensor& logit, double label) {
  return at::binary_cross_entropy_with_logits(logit, torch::full_like(logit, label));
}

std::vector<Tensor> split(const Tensor& joint, const std::vector<Tensor>& like) {
  std::vector<int64_t> widths;
  for (const Tensor& part : like) widths.push_back(part.size(1));
  return joint.split_with_sizes(widths, 1);
}

}  // namespace

struct Adversary::Losses {
  Tensor discriminator, features;
};

Adversary::Adversary(int64_t joint_width, AlignmentOptions options, Random init)
    : options_(options),
      hidden_(joint_width, 64, Start::kXavier, init.child(0)),
      output_(64, 1, Start::kXavier, init.child(1)) {
  for (const NamedTensor& tensor : parameters()) velocity_.push_back(torch::zeros_like(tensor.value.detach()));
}

Tensor Adversary::logit(const Tensor& joint) const {
  const Tensor a = output_(hidden_(joint).relu());
  return options_.output == DiscriminatorOutput::kDoubleSigmoid ? a.sigmoid() : a;
}

NamedTensors Adversary::parameters() const {
  TensorList list;
  hidden_.list("0", list);
  output_.list("2", list);
  return list.parameters;
}

NamedTensors Adversary::state() const {
  NamedTensors all = parameters();
  for (size_t i = 0; i < velocity_.size(); ++i) all.push_back({fmt::format("velocity.{}", i), velocity_[i]});
  return all;
}

void Adversary::to(torch::Device device) {
  for (NamedTensor& tensor : parameters()) tensor.value.set_data(tensor.value.detach().to(device));
  for (Tensor& velocity : velocity_) velocity = velocity.to(device);
}

Adversary::Losses Adversary::losses(const Tensor& confident, const Tensor& unconfident) const {
  const Tensor a_l = logit(confident);
  const Tensor a_u = logit(unconfident);
  Losses losses;
  losses.discriminator = options_.factor * (against(a_l, 1) + against(a_u, 0));
  losses.features = options_.objective == FeatureObjective::kSwapped
                        ? options_.factor * (against(a_l, 0) + against(a_u, 1))
                        : -losses.discriminator;
  return losses;
}

void Adversary::descend(const std::vector<Tensor>& gradient) {
  torch::NoGradGuard no_grad;
  const NamedTensors own = parameters();
  for (size_t i = 0; i < own.size(); ++i) {
    const Tensor parameter = own[i].value.detach();
    velocity_[i].mul_(options_.momentum).add_(gradient[i]).add_(parameter, options_.weight_decay);
    parameter.sub_(velocity_[i], options_.rate);
  }
}

AlignmentStep Adversary::step(const std::vector<Tensor>& confident, const std::vector<Tensor>& unconfident) {
  const auto joint = [](const std::vector<Tensor>& parts) { return at::cat(parts, 1).detach().requires_grad_(); };
  const Tensor phi_l = joint(confident);
  const Tensor phi_u = joint(unconfident);
  std::vector<Tensor> parameters_of_d;
  for (const NamedTensor& tensor : parameters()) parameters_of_d.push_back(tensor.value);

  Losses before = losses(phi_l, phi_u);
  std::vector<Tensor> inputs = parameters_of_d;
  if (options_.leak) inputs.insert(inputs.end(), {phi_l, phi_u});
  const bool reuse = options_.alternation == Alternation::kSimultaneous;
  std::vector<Tensor> gradient = torch::autograd::grad({before.discriminator}, inputs, {}, /*retain_graph=*/reuse);
  const std::vector<Tensor> leaked(gradient.begin() + static_cast<int64_t>(parameters_of_d.size()), gradient.end());
  gradient.resize(parameters_of_d.size());

  const auto opposing = [&](const Losses& at) { return torch::autograd::grad({at.features}, {phi_l, phi_u}); };
  AlignmentStep result;
  result.discriminator_loss = before.discriminator.detach();
  std::vector<Tensor> opposed;
  if (reuse) {
    opposed = opposing(before);
    result.adversarial_loss = before.features.detach();
    descend(gradient);
  } else {
    descend(gradient);
    const Losses after = losses(phi_l, phi_u);
    opposed = opposing(after);
    result.adversarial_loss = after.features.detach();
  }

  const auto m = static_cast<int64_t>(confident.size());
  result.confident_gradient = split(opposed[0], confident);
  result.unconfident_gradient = split(opposed[1], unconfident);
  for (int64_t j = 0; j < m; ++j) {
    const double copies = adversarial_copies(options_.copies, j, m);
    Tensor& of_l = result.confident_gradient[j];
    Tensor& of_u = result.unconfident_gradient[j];
    if (copies != 1) {
      of_l = of_l * copies;
      of_u = of_u * copies;
    }
    if (options_.leak) {
      of_l = of_l + split(leaked[0], confident)[j];
      of_u = of_u + split(leaked[1], unconfident)[j];
    }
  }
  return result;
}

double adversarial_copies(AdversarialCopies copies, int64_t index, int64_t sources) {
  switch (copies) {
    case AdversarialCopies::kOnce:
      return 1;
    case AdversarialCopies::kEvery:
      return static_cast<double>(sources);
    case AdversarialCopies::kDescending:
      return static_cast<double>(sources - index);
  }
  return 1;
}

}  // namespace tributary
