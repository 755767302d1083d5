#include "tributary/methods/cowa/joint_score.h"

namespace tributary {
namespace {

// gap / its largest value, or its quantile, at most 1.
Tensor relative_gap(const Tensor& gap, double quantile) {
  const Tensor scale = quantile < 1 ? at::quantile(gap, quantile) : gap.max();
  const bool usable = scale.isfinite().item<bool>() && scale.item<double>() > 0;
  return usable ? (gap / scale).clamp_max(1) : at::ones_like(gap);
}

Tensor chosen(const JointScore& found, ConfidenceScore score) {
  switch (score) {
    case ConfidenceScore::kLpg:
      return found.lpg;
    case ConfidenceScore::kPpl:
      return found.mppl;
    case ConfidenceScore::kNone:
      return at::ones_like(found.lpg);
    case ConfidenceScore::kJmds:
      break;
  }
  return found.lpg * found.mppl;
}

}  // namespace

JointScore joint_score(const Tensor& features, const Tensor& probabilities, const JointScoreOptions& options) {
  torch::NoGradGuard no_grad;
  const Tensor model = probabilities.to(torch::kFloat64);
  const MixtureRows rows{features, model.device(), options.cosine};
  const MixtureFit first = first_fit(rows, model, options.epsilon);
  const MixtureFit last = refit(rows, first.responsibilities(), options.epsilon);

  JointScore found;
  found.label = last.log_density.argmax(1);
  found.responsibilities = last.responsibilities();
  found.live_classes = last.live.sum().item<int64_t>();
  found.jitter = std::max(first.jitter, last.jitter);
  if (found.live_classes > 1) {
    const Tensor best = std::get<0>(last.log_density.topk(2, /*dim=*/1));
    found.gap = best.select(1, 0) - best.select(1, 1);
  } else {
    found.gap = torch::zeros({model.size(0)}, model.options());
  }
  found.lpg = relative_gap(found.gap, options.gap_quantile);
  found.mppl = model.gather(1, found.label.unsqueeze(1)).squeeze(1);
  found.confidence = chosen(found, options.score);
  return found;
}

Tensor effective_samples(const Tensor& confidence) {
  constexpr double kSmallest = 1e-300;
  return confidence.sum().square() / confidence.square().sum().clamp_min(kSmallest);
}

}  // namespace tributary
