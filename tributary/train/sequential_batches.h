// Evaluation batches: the centre crops of a set, in order.
#pragma once

#include <vector>

#include "tributary/base/read_ahead.h"
#include "tributary/comm/communicator.h"
#include "tributary/train/device_images.h"

namespace tributary {

// Gives the same pixels as `DeviceImages::gather`. If the set is not resident, the next batch is read while the caller
// works with the last.
class SequentialBatches {
 public:
  SequentialBatches(const DeviceImages& images, int64_t batch);
  // One batch per range of rows.
  SequentialBatches(const DeviceImages& images, std::vector<Shard> batches);
  SequentialBatches(const SequentialBatches&) = delete;
  SequentialBatches& operator=(const SequentialBatches&) = delete;

  bool done() const { return next_ >= batches_.size(); }
  Tensor next();
  // Seconds spent waiting for pictures; 0 if the set is resident.
  double waited() const { return fetched_.waited(); }

 private:
  const DeviceImages& images_;
  std::vector<Shard> batches_;
  size_t next_ = 0, next_fetched_ = 0;
  ReadAhead<Tensor> fetched_;
};

}  // namespace tributary
