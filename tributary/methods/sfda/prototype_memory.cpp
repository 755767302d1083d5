#include "tributary/methods/sfda/prototype_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tributary/adapt/feature_rows.h"
#include "tributary/adapt/information.h"

namespace tributary {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The picture that serves as prototype of each class without predictions, int64 [K].
Tensor substitutes(const Tensor& probabilities, AbsentClass absent) {
  if (absent == AbsentClass::kMostProbable) return probabilities.argmax(0);
  return probabilities[0].argsort(/*dim=*/0, /*descending=*/true).clamp_max(probabilities.size(0) - 1);
}

// Selects the values of one class per row: [b, K, P] to [b, P].
Tensor of_class(const Tensor& values, const Tensor& label) {
  return values.gather(1, label.view({-1, 1, 1}).expand({values.size(0), 1, values.size(2)})).squeeze(1);
}

}  // namespace

Tensor normalised_entropy(const Tensor& probabilities) {
  return entropy(probabilities, 1e-10) / std::log(static_cast<double>(probabilities.size(1)));
}

PrototypeChoice choose_prototypes(const Tensor& labels, const Tensor& entropy, const Tensor& probabilities,
                                  int64_t most, AbsentClass absent) {
  const Tensor unsorted = entropy.to(torch::kCPU, torch::kFloat64);
  const auto [sorted, order] = unsorted.sort(/*stable=*/c10::optional<bool>(true), /*dim=*/0, /*descending=*/false);
  const Tensor sorted_labels = labels.cpu().index_select(0, order);
  const auto value = sorted.accessor<double, 1>();
  const auto picture = order.accessor<int64_t, 1>(), label = sorted_labels.accessor<int64_t, 1>();

  const int64_t count = labels.size(0), classes = probabilities.size(1);
  std::vector<bool> present(static_cast<size_t>(classes));
  double threshold = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (present[static_cast<size_t>(label[i])]) continue;
    present[static_cast<size_t>(label[i])] = true;
    threshold = std::max(threshold, value[i]);
  }
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(classes));
  for (int64_t i = 0; i < count; ++i)
    if (!(value[i] > threshold)) members[static_cast<size_t>(label[i])].push_back(picture[i]);

  int64_t kept = 1;
  for (const auto& of_one : members) kept = std::max(kept, static_cast<int64_t>(of_one.size()));
  kept = std::min(kept, most);
  const Tensor instead = substitutes(probabilities, absent).cpu();
  Tensor index = torch::empty({classes, kept}, torch::kInt64);
  auto chosen = index.accessor<int64_t, 2>();
  for (int64_t k = 0; k < classes; ++k) {
    auto& own = members[static_cast<size_t>(k)];
    if (own.empty()) own.push_back(instead[k].item<int64_t>());
    for (int64_t r = 0; r < kept; ++r) chosen[k][r] = own[static_cast<size_t>(r) % own.size()];
  }
  return {index, threshold};
}

PrototypeMemory::PrototypeMemory(int64_t classes, int64_t most, int64_t width, torch::Device device)
    : rows(torch::zeros({classes, most, width}, at::device(device).dtype(torch::kFloat32))),
      count(torch::ones({}, at::device(device).dtype(torch::kInt64))) {}

void PrototypeMemory::rebuild(const Tensor& features, const Tensor& probabilities, AbsentClass absent) {
  torch::NoGradGuard no_grad;
  const Tensor index =
      choose_prototypes(probabilities.argmax(1), normalised_entropy(probabilities), probabilities, rows.size(1), absent)
          .index;
  const int64_t kept = index.size(1);
  const Tensor chosen = unit_length_rows(features.index_select(0, index.flatten().to(features.device())));
  rows.narrow(1, 0, kept).copy_(chosen.view({rows.size(0), kept, rows.size(2)}));
  count.fill_(kept);
}

PrototypeLabels prototype_labels(const Tensor& features, const PrototypeMemory& memory) {
  torch::NoGradGuard no_grad;
  const int64_t classes = memory.rows.size(0), most = memory.rows.size(1);
  const Tensor cosine = unit_length_rows(features.detach().to(torch::kFloat32))
                            .matmul(memory.rows.flatten(0, 1).t())
                            .view({features.size(0), classes, most});
  const Tensor empty = torch::arange(most, memory.count.options()) >= memory.count;  // [most]
  PrototypeLabels result;
  result.similarity = cosine.masked_fill(empty, 0).sum(2) / memory.count;
  result.label = result.similarity.argmax(1);
  const Tensor second = result.similarity.scatter(1, result.label.unsqueeze(1), -kInfinity).argmax(1);
  result.farthest = 1 - of_class(cosine, result.label).masked_fill(empty, kInfinity).amin(1);
  result.nearest = 1 - of_class(cosine, second).masked_fill(empty, -kInfinity).amax(1);
  result.confidence = (result.farthest < result.nearest).to(torch::kFloat32);
  return result;
}

Tensor memory_trust(const Tensor& done, int64_t steps) {
  // 2 / (1 + exp(-2 x)) - 1 equals tanh x, which is accurate near 0.
  return (done * (5.0 / static_cast<double>(std::max<int64_t>(1, steps / 2)))).tanh();
}

MemoryLosses memory_losses(const Tensor& source_logits, const Tensor& source_labels, const Tensor& target_logits,
                           const PrototypeLabels& target_labels, const Tensor& trust) {
  MemoryLosses losses;
  losses.source = at::cross_entropy_loss(source_logits, source_labels);
  const Tensor each = at::cross_entropy_loss(target_logits, target_labels.label, {}, at::Reduction::None);
  losses.target = (target_labels.confidence * each).mean();
  losses.total = (1 - trust) * losses.source + trust * losses.target;
  return losses;
}

}  // namespace tributary
