#include "tributary/train/memory_retry.h"

#include <algorithm>

#include "tributary/device/device.h"
#include "tributary/model/layered_source.h"

namespace tributary {

int64_t retry_with_micro_batches(int64_t batch, torch::Device device, const std::function<void(int64_t)>& attempt,
                                 const std::function<void(int64_t)>& tell) {
  constexpr int64_t kLeast = 2;
  for (int64_t micro_batch = 0;;) {
    try {
      attempt(micro_batch);
      return micro_batch;
    } catch (const std::exception& error) {
      if (!is_out_of_gpu_memory(error) || micro_batch == kLeast) throw;
      micro_batch = std::max(kLeast, (micro_batch == 0 ? batch : micro_batch) / 2);
    }
    // The attempt's tensors are freed by now; only the allocator's cache is left.
    release_cached_memory(device);
    tell(micro_batch);
  }
}

void set_micro_batch(SourceModel& source, int64_t micro_batch) {
  if (LayeredSource* layers = source.layered()) layers->set_micro_batch(micro_batch);
}

}  // namespace tributary
