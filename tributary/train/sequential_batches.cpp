#include "tributary/train/sequential_batches.h"

#include <algorithm>

namespace tributary {
namespace {

std::vector<Shard> blocks(int64_t count, int64_t batch) {
  std::vector<Shard> all;
  for (int64_t begin = 0; begin < count; begin += batch) all.push_back({begin, std::min(begin + batch, count)});
  return all;
}

}  // namespace

SequentialBatches::SequentialBatches(const DeviceImages& images, int64_t batch)
    : SequentialBatches(images, blocks(images.size(), batch)) {}

SequentialBatches::SequentialBatches(const DeviceImages& images, std::vector<Shard> batches)
    : images_(images),
      batches_(std::move(batches)),
      fetched_(static_cast<int64_t>(batches_.size()), /*ahead=*/true, [this] {
        const Shard& rows = batches_[next_fetched_++];
        return images_.fetch(torch::arange(rows.begin, rows.end));
      }) {}

Tensor SequentialBatches::next() {
  const Shard& rows = batches_[next_++];
  return images_.resident() ? images_.rows(rows.begin, rows.end) : images_.centre_crop(images_.bring(fetched_.next()));
}

}  // namespace tributary
