#include "tributary/adapt/witness.h"

#include <algorithm>

#include "tributary/adapt/agreement.h"
#include "tributary/model/class_sets.h"

namespace tributary {

WitnessRule::WitnessRule(const Tensor& logits, const Tensor& known) : classes_(logits.size(2)) {
  torch::NoGradGuard no_grad;
  const int64_t m = logits.size(0);
  labels_ = votes(logits, known).cpu().contiguous();
  if (m == 1) {
    others_ = labels_.clone();
  } else {
    std::vector<Tensor> others;
    // Summed without source j instead of subtracted from the sum, where rounding would break ties.
    for (int64_t j = 0; j < m; ++j) {
      Tensor rest = torch::zeros_like(logits[0], torch::kFloat32);
      for (int64_t l = 0; l < m; ++l)
        if (l != j) rest += logits[l].to(torch::kFloat32).softmax(-1);
      others.push_back(rest.argmax(-1));
    }
    others_ = at::stack(others).cpu().contiguous();
  }
  measure();
}

WitnessRule::WitnessRule(Tensor labels, Tensor others, int64_t classes)
    : labels_(std::move(labels)), others_(std::move(others)), classes_(classes) {
  measure();
}

void WitnessRule::measure() {
  const int64_t m = labels_.size(0);
  if (m < 2) return;
  kappa_ = 0;
  double pairs = 0;
  for (int64_t j = 0; j < m; ++j) {
    kappa_ += cohens_kappa(others_[j], labels_[j], classes_) / static_cast<double>(m);
    for (int64_t l = 0; l < j; ++l) pairs += cohens_kappa(labels_[l], labels_[j], classes_);
  }
  doubtful_share_ = std::clamp(1 - pairs / (static_cast<double>(m * (m - 1)) / 2), 0.0, 1.0);
}

WitnessVerdict WitnessRule::judge(const Tensor& label) const {
  constexpr double kErrors = 2, kPoint = 0.01;
  const Tensor voted = labels_ >= 0;
  // The mean over the witnesses that have a label for the picture.
  const auto mean_of = [&, all = voted.all().item<bool>()](const Tensor& agrees) {
    const Tensor value = agrees.to(torch::kFloat64);
    return all ? value.mean(0) : value.sum(0) / voted.sum(0).clamp_min(1);
  };
  const Tensor own = mean_of(labels_ == label.cpu());
  const Tensor of_others = mean_of(labels_ == others_);
  const PairedDifference difference = paired_difference(own - of_others);
  WitnessVerdict verdict{own.mean().item<double>(), of_others.mean().item<double>(), difference.standard_error, false};
  verdict.rejected = !abstains() && -difference.mean > kErrors * difference.standard_error && -difference.mean > kPoint;
  return verdict;
}

}  // namespace tributary
