#include "tributary/adapt/prototypes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tributary/adapt/feature_rows.h"
#include "tributary/model/class_sets.h"

namespace tributary {
namespace {

// The sums over rows from which prototypes are computed.
struct ClassSums {
  Tensor members, count;  // [K, d] and [K, 1], over labelled samples
  Tensor weighted, mass;  // the same over all samples, weighted by their probabilities

  ClassSums(const Tensor& features, const Tensor& label, const Tensor& probabilities, EmptyClass empty) {
    const Tensor index = torch::arange(probabilities.size(1), label.options());
    const Tensor member = (label.unsqueeze(1) == index).to(features.scalar_type());  // [n, K]
    count = member.sum(0).unsqueeze(1);
    members = member.t().matmul(features);
    if (empty == EmptyClass::kZero) return;
    weighted = probabilities.t().matmul(features);
    mass = probabilities.sum(0).unsqueeze(1);
  }

  void add(const ClassSums& other) {
    members += other.members;
    count += other.count;
    if (!weighted.defined()) return;
    weighted += other.weighted;
    mass += other.mass;
  }

  // The sums over all ranks' rows.
  ClassSums over(const RowBlock& rows) const {
    ClassSums all = *this;
    for (Tensor* const part : {&all.members, &all.count, &all.weighted, &all.mass})
      if (part->defined()) *part = rows.sum(*part);
    return all;
  }

  Tensor prototypes() const {
    const Tensor mean = members / count.clamp_min(1);
    return weighted.defined() ? at::where(count > 0, mean, weighted / (mass + 1e-12)) : mean;
  }
};

// Calls work(begin, end, rows) for blocks of features, sized so that rows of `columns` values fit in memory.
template <typename Work>
void for_blocks(const Tensor& features, int64_t columns, torch::Device device, const Work& work) {
  for_row_blocks(features.size(0), std::max(features.size(1), columns),
                 [&](int64_t begin, int64_t end) { work(begin, end, rows_as_float(features, begin, end, device)); });
}

}  // namespace

Tensor class_prototypes(const Tensor& features, const Tensor& label, const Tensor& probabilities, EmptyClass empty,
                        const RowBlock& rows) {
  const torch::Device device = probabilities.device();
  if (is_plain(features, device)) return ClassSums(features, label, probabilities, empty).over(rows).prototypes();
  std::optional<ClassSums> sums;
  if (features.size(0) == 0) sums.emplace(rows_as_float(features, 0, 0, device), label, probabilities, empty);
  for_blocks(features, probabilities.size(1), device, [&](int64_t begin, int64_t end, const Tensor& values) {
    const ClassSums block(values, label.slice(0, begin, end), probabilities.slice(0, begin, end), empty);
    if (sums)
      sums->add(block);
    else
      sums = block;
  });
  return sums->over(rows).prototypes();
}

Tensor prototype_posterior(const Tensor& features, const Tensor& prototypes, const PrototypeOptions& options,
                           const Tensor& known) {
  if (!is_plain(features, prototypes.device())) {
    Tensor posterior = torch::empty({features.size(0), prototypes.size(0)}, prototypes.options());
    for_blocks(features, prototypes.size(0), prototypes.device(), [&](int64_t begin, int64_t end, const Tensor& rows) {
      posterior.slice(0, begin, end).copy_(prototype_posterior(rows, prototypes, options, known));
    });
    return posterior;
  }
  const bool squared = options.kernel == PrototypeKernel::kSquared;
  const double temperature = options.temperature > 0 ? options.temperature : (squared ? 10.0 : 1.0);
  // Differences, not |a|^2 - 2ab + |b|^2: near a prototype the latter loses all its digits.
  const Tensor distance = at::cdist(features, prototypes, 2.0, /*compute_mode=*/2);
  const Tensor closeness = squared ? -distance.square() / (2 * temperature) : -distance / temperature;
  return (known.defined() ? closeness.masked_fill(known.logical_not(), -INFINITY) : closeness).softmax(-1);
}

Tensor refined_posterior(const Tensor& features, const Tensor& label, const Tensor& probabilities,
                         const PrototypeOptions& options, const Tensor& known, const GivenLabels& given,
                         const RowBlock& rows) {
  Tensor current = label;
  // A label of a class that the source does not know has no prototype to be compared with.
  const Tensor relabelled =
      known.defined() ? (label >= 0).logical_and(known.index_select(0, label.clamp_min(0))) : label >= 0;
  for (int64_t pass = 1;; ++pass) {
    const Tensor prototypes = class_prototypes(features, current, probabilities, options.empty, rows);
    const Tensor posterior = prototype_posterior(features, prototypes, options, known);
    if (pass >= options.passes) return posterior;
    current = with_given_labels(at::where(relabelled, posterior.argmax(-1), label), given);
  }
}

Tensor complete_posteriors(const Tensor& posteriors, const Tensor& known) {
  if (!known.defined()) return posteriors;
  constexpr double kSmallest = 1e-37;  // of a normal float32
  return complete_logits(posteriors.clamp_min(kSmallest).log(), known).softmax(-1);
}

}  // namespace tributary
