#include "tributary/methods/nrc/reciprocity.h"

#include <algorithm>
#include <cmath>

#include "tributary/adapt/information.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

// A mask of the first `count` of `most` ranks, bool [most].
Tensor counted(int64_t most, const Tensor& count) {
  return torch::arange(most, count.options()) < count;
}

}  // namespace

NeighbourBanks::NeighbourBanks(int64_t pictures, int64_t width, int64_t classes, torch::Device device)
    : features(torch::zeros({pictures, width}, at::device(device).dtype(torch::kFloat32))),
      scores(torch::zeros({pictures, classes}, at::device(device).dtype(torch::kFloat32))) {}

void NeighbourBanks::write(const Tensor& rows, const Tensor& fresh, const Tensor& probabilities) {
  torch::NoGradGuard no_grad;
  constexpr double kShortest = 1e-12;  // keeps features of length zero at zero
  const Tensor length = fresh.norm(2, /*dim=*/1, /*keepdim=*/true).clamp_min(kShortest);
  features.index_copy_(0, rows, (fresh / length).to(torch::kFloat32));
  scores.index_copy_(0, rows, probabilities.to(torch::kFloat32));
}

Tensor nearest_rows(const Tensor& bank, const Tensor& rows, int64_t count) {
  TRIBUTARY_CHECK(count < bank.size(0), "{} neighbours among {}", count, bank.size(0));
  torch::NoGradGuard no_grad;
  Tensor similarity = at::mm(bank.index_select(0, rows), bank.t());
  similarity.scatter_(1, rows.unsqueeze(1), -INFINITY);
  return std::get<1>(similarity.topk(count, /*dim=*/1));
}

NeighbourCounts NeighbourSchedule::most(int64_t pictures) const {
  const int64_t others = pictures - 1;
  return {std::min(std::max(first.near, later.near), others),
          std::min(std::max(first.expanded, later.expanded), others)};
}

Tensor count_now(const Tensor& done, int64_t steps, int64_t first, int64_t later) {
  return done.gt(static_cast<double>(steps) / 2).to(torch::kInt64) * (later - first) + first;
}

Neighbourhood find_neighbourhood(const Tensor& bank, const Tensor& rows, const NeighbourSchedule& schedule,
                                 const Tensor& done, SelfTerm self) {
  torch::NoGradGuard no_grad;
  const NeighbourCounts most = schedule.most(bank.size(0));
  Neighbourhood found;
  found.near = nearest_rows(bank, rows, most.near);
  found.expanded = nearest_rows(bank, found.near.view({-1}), most.expanded).view({-1, most.near, most.expanded});

  const auto& [first, later, steps] = schedule;
  const Tensor near_counts = counted(most.near, count_now(done, steps, first.near, later.near));
  const Tensor expanded_counts = counted(most.expanded, count_now(done, steps, first.expanded, later.expanded));
  const Tensor is_self = found.expanded.eq(rows.view({-1, 1, 1}));
  const Tensor reciprocal = is_self.logical_and(expanded_counts).any(2);
  found.near_weight = reciprocal.to(torch::kFloat32).clamp_min(kWeakAffinity) * near_counts;

  // Do not make this a view of the weights above: filling it would overwrite them with 0.1, a bug of a released script
  // (docs/baselines.md, NRC).
  const Tensor allowed = self == SelfTerm::kOwnLoss ? is_self.logical_not() : at::ones_like(is_self);
  found.expanded_weight =
      allowed.logical_and(near_counts.unsqueeze(1)).logical_and(expanded_counts).to(torch::kFloat32) * kWeakAffinity;
  return found;
}

Tensor neighbour_divergence(const Tensor& score, const Tensor& probabilities) {
  return at::xlogy(score, score).sum(-1) - (score * probabilities).sum(-1);
}

ReciprocityLosses reciprocity_losses(const Tensor& scores, const Neighbourhood& neighbourhood,
                                     const Tensor& probabilities, SelfTerm self) {
  const int64_t batch = probabilities.size(0), classes = probabilities.size(1);
  const auto pull = [&](const Tensor& neighbours, const Tensor& weight) {
    const Tensor score = scores.index_select(0, neighbours.reshape({-1})).view({batch, -1, classes});
    return (weight.view({batch, -1}) * neighbour_divergence(score, probabilities.unsqueeze(1))).sum(1).mean();
  };
  ReciprocityLosses losses;
  losses.near = pull(neighbourhood.near, neighbourhood.near_weight);
  losses.expanded = pull(neighbourhood.expanded, neighbourhood.expanded_weight);
  losses.diversity = -entropy(probabilities.mean(0));
  losses.self = self == SelfTerm::kOwnLoss ? -(probabilities.detach() * probabilities).sum(1).mean()
                                           : at::zeros_like(losses.near);
  return losses;
}

}  // namespace tributary
