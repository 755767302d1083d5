// Retries work that ran out of GPU memory with micro-batches (model/micro_batch.h).
#pragma once

#include <functional>

#include "tributary/model/ensemble.h"

namespace tributary {

// Calls `attempt(0)`, which means whole batches. While it runs out of GPU memory, retries with micro-batches of half of
// `batch`, then a quarter and so on down to 2 pictures, and calls `tell(micro_batch)` before each. Returns the size
// that worked; rethrows the last error if none did.
int64_t retry_with_micro_batches(int64_t batch, torch::Device device,
                                 const std::function<void(int64_t micro_batch)>& attempt,
                                 const std::function<void(int64_t micro_batch)>& tell);

// Lets the backbone take at most `micro_batch` pictures at once; 0: all. TorchScript sources take whole batches.
void set_micro_batch(SourceModel& source, int64_t micro_batch);

}  // namespace tributary
