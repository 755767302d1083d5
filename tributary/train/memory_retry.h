// Work that needs more memory than a GPU has is done again in pieces (model/micro_batch.h).
#pragma once

#include <functional>

#include "tributary/model/ensemble.h"

namespace tributary {

// Calls `attempt(micro_batch)` with a `micro_batch` of 0, which means whole batches. As long as the GPU's memory does
// not suffice, the next attempt takes pieces of half as many pictures, from half of `batch` on down to 2;
// `tell(micro_batch)` hears of it before. Returns the piece with which it worked; throws what the last attempt threw if
// none does.
int64_t retry_with_micro_batches(int64_t batch, torch::Device device,
                                 const std::function<void(int64_t micro_batch)>& attempt,
                                 const std::function<void(int64_t micro_batch)>& tell);

// Lets the backbone take at most `micro_batch` pictures at once; 0: all. TorchScript takes what it is given.
void set_micro_batch(SourceModel& source, int64_t micro_batch);

}  // namespace tributary
