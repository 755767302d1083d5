#include "tributary/train/sampler.h"

#include <algorithm>

#include "tributary/base/error.h"

namespace tributary {

Sampler::Sampler(const Tensor& index, int64_t batch, Random random, int64_t least)
    : count_(index.size(0)), batch_(batch), least_(std::max<int64_t>(2, least)), random_(random), begin_(count_) {
  TRIBUTARY_CHECK(count_ >= 2 && batch_ >= 2, "{} samples in batches of {}", count_, batch_);
}

void Sampler::restart() {
  const std::vector<int64_t> order = random_.child(epoch_++).permutation(count_);
  order_ = torch::tensor(order, torch::kInt64);
  begin_ = 0;
}

Tensor Sampler::next() {
  if (exhausted()) restart();
  const int64_t end = std::min(begin_ + batch_, count_);
  const Tensor batch = order_.slice(0, begin_, end);
  begin_ = count_ - end < least_ ? count_ : end;
  return batch;
}

}  // namespace tributary
