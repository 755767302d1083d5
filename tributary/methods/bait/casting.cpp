#include "tributary/methods/bait/casting.h"

#include "tributary/adapt/information.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

// KL(p || softmax(q)) for probabilities p and q; only q gets a gradient.
Tensor divergence_from_second_softmax(const Tensor& p, const Tensor& q) {
  const Tensor fixed = p.detach();
  return (at::xlogy(fixed, fixed) - fixed * q.log_softmax(1)).sum(1);
}

}  // namespace

Tensor uncertain_signs(const Tensor& entropies) {
  const Tensor order = std::get<1>(entropies.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return at::full_like(entropies, -1).index_fill(0, order.narrow(0, 0, entropies.size(0) / 2), 1);
}

Tensor head_distances(const Tensor& anchor_logits, const Tensor& bait_logits, HeadDistance form) {
  if (form == HeadDistance::kPaper) {
    // Computes both divergences from log-probabilities, so that a zero probability gives neither infinity nor NaN.
    const Tensor log_anchor = anchor_logits.log_softmax(1), log_bait = bait_logits.log_softmax(1);
    return 0.5 * ((log_anchor.exp() - log_bait.exp()) * (log_anchor - log_bait)).sum(1);
  }
  const Tensor anchor = anchor_logits.softmax(1), bait = bait_logits.softmax(1);
  return 0.5 * (divergence_from_second_softmax(anchor, bait) + divergence_from_second_softmax(bait, anchor));
}

Tensor cast_loss(const Tensor& distances, const Tensor& signs, double weight) {
  return -weight * (signs * distances).mean();
}

Tensor mutual_cross_entropy(const Tensor& anchor, const Tensor& bait) {
  return -(anchor * (bait + kEntropyEpsilon).log() + bait * (anchor + kEntropyEpsilon).log()).sum(1).mean();
}

Tensor bite_loss(const Tensor& anchor, const Tensor& bait) {
  return mutual_cross_entropy(anchor, bait) - entropy(anchor.mean(0)) - entropy(bait.mean(0));
}

BaitClassifier::BaitClassifier(const NamedTensors& classifier) {
  for (const NamedTensor& original : classifier) {
    const Tensor copy = original.value.detach().clone().set_requires_grad(true);
    parameters_.push_back({original.name, copy});
    const std::string part = original.name.substr(original.name.rfind('.') + 1);
    if (part == "weight_v")
      direction_ = copy;
    else if (part == "weight_g")
      length_ = copy;
    else if (part == "weight")
      weight_ = copy;
    else if (part == "bias")
      bias_ = copy;
    else
      TRIBUTARY_CHECK(false, "a classifier with {}", original.name);
  }
}

Tensor BaitClassifier::operator()(const Tensor& features) const {
  return at::linear(features, weight_.defined() ? weight_ : at::_weight_norm(direction_, length_, 0), bias_);
}

}  // namespace tributary
