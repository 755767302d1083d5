#include "tributary/train/sampler.h"

#include <algorithm>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// The positions of `order` that the limits allow.
std::vector<int64_t> limited(const std::vector<int64_t>& order, const EpochLimits& limits) {
  std::vector<int64_t> left = limits.most, kept;
  for (const int64_t position : order)
    if (left[static_cast<size_t>(limits.label[static_cast<size_t>(position)])]-- > 0) kept.push_back(position);
  return kept.size() >= 2 ? kept : order;
}

}  // namespace

Sampler::Sampler(const Tensor& index, int64_t batch, Random random, int64_t least, EpochLimits limits)
    : count_(index.size(0)),
      batch_(batch),
      least_(std::max<int64_t>(2, least)),
      random_(random),
      limits_(std::move(limits)) {
  TRIBUTARY_CHECK(limits_.most.empty() || static_cast<int64_t>(limits_.label.size()) == count_,
                  "limits for {} of {} samples", limits_.label.size(), count_);
  TRIBUTARY_CHECK(count_ >= 2 && batch_ >= 2, "{} samples in batches of {}", count_, batch_);
}

void Sampler::restart() {
  std::vector<int64_t> order = random_.child(epoch_++).permutation(count_);
  if (!limits_.most.empty()) order = limited(order, limits_);
  drawn_ = static_cast<int64_t>(order.size());
  order_ = torch::tensor(order, torch::kInt64);
  begin_ = 0;
}

Tensor Sampler::next() {
  if (exhausted()) restart();
  const int64_t end = std::min(begin_ + batch_, drawn_);
  const Tensor batch = order_.slice(0, begin_, end);
  begin_ = drawn_ - end < least_ ? drawn_ : end;
  return batch;
}

}  // namespace tributary
