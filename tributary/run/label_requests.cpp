#include "tributary/run/label_requests.h"

#include <algorithm>

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/information.h"
#include "tributary/adapt/label_query.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

constexpr int64_t kMostConsidered = 20000;

// Weights of sum 1, per source; equal ones for rules without weights.
Tensor shares_of(const Ensemble& ensemble, torch::Device device) {
  const int64_t sources = ensemble.size();
  if (!ensemble.mixture.weights.defined())
    return torch::full({sources}, 1 / static_cast<double>(sources), at::device(device).dtype(torch::kFloat32));
  return normalised_weights(ensemble.mixture.weights.to(device));
}

}  // namespace

std::vector<int64_t> pictures_to_label(Ensemble& ensemble, const DeviceImages& images, int64_t count,
                                       const std::vector<int64_t>& known, uint64_t seed) {
  torch::NoGradGuard no_grad;
  std::vector<Tensor> features, logits;
  for (const Outputs& outputs : evaluate(ensemble.sources, images)) {
    features.push_back(outputs.features);
    logits.push_back(outputs.logits);
  }
  // Weights of sum 1: learned ones may be so large that no picture looks uncertain.
  const Tensor shares = shares_of(ensemble, logits.front().device());
  Tensor uncertainty =
      entropy(combine(ensemble.stacked(logits), {Combination::kWeightedLogits, shares})).clamp_min(1e-6).cpu();
  if (!known.empty()) uncertainty.index_fill_(0, torch::tensor(known, torch::kInt64), 0);
  const Tensor order = std::get<1>(uncertainty.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const Tensor considered = order.slice(0, 0, std::min(kMostConsidered, order.size(0)));
  for (Tensor& rows : features)
    rows = rows.index_select(0, considered.to(rows.device())).to(torch::kCPU, torch::kFloat32);
  const Tensor chosen =
      representative_rows(joint_features(features, shares.cpu()), uncertainty.index_select(0, considered), count,
                          Random(seed, Purpose::kLabelQuery));
  const Tensor picked = considered.index_select(0, chosen).contiguous();
  return {picked.data_ptr<int64_t>(), picked.data_ptr<int64_t>() + picked.numel()};
}

std::vector<int64_t> audit_sample(int64_t pictures, int64_t count, uint64_t seed) {
  std::vector<int64_t> order = Random(seed, Purpose::kAudit).permutation(pictures);
  order.resize(static_cast<size_t>(std::min(count, pictures)));
  return order;
}

}  // namespace tributary
