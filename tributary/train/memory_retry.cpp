#include "tributary/train/memory_retry.h"

#include <algorithm>

#include "tributary/device/device.h"
#include "tributary/model/layered_source.h"

namespace tributary {

void declare_recompute(OptionTable& table, const std::string& section, Recompute& recompute) {
  table
      .choice(section, "recompute", &recompute,
              {{"auto", Recompute::kNone}, {"waiting", Recompute::kWaiting}, {"all", Recompute::kAll}},
              "passes whose activations are recomputed, which takes less GPU memory and more time: none unless memory "
              "is short, those that wait for other sources, or all")
      .transient();
}

std::optional<PassMemory> with_less_memory(const PassMemory& memory, int64_t batch) {
  constexpr int64_t kLeast = 2;
  if (memory.recompute == Recompute::kNone) return PassMemory{Recompute::kWaiting};
  if (memory.recompute == Recompute::kWaiting) return PassMemory{Recompute::kAll};
  if (memory.micro_batch == kLeast) return std::nullopt;
  return PassMemory{Recompute::kAll, std::max(kLeast, (memory.micro_batch == 0 ? batch : memory.micro_batch) / 2)};
}

PassMemory retry_with_less_memory(PassMemory memory, int64_t batch, torch::Device device,
                                  const std::function<void(const PassMemory&)>& attempt,
                                  const std::function<void(const PassMemory&)>& tell) {
  for (;;) {
    try {
      attempt(memory);
      return memory;
    } catch (const std::exception& error) {
      const std::optional<PassMemory> less = with_less_memory(memory, batch);
      if (!is_out_of_gpu_memory(error) || !less) throw;
      memory = *less;
    }
    // The attempt's tensors are freed by now; only the allocator's cache is left.
    release_cached_memory(device);
    tell(memory);
  }
}

void set_memory(SourceModel& source, const PassMemory& memory) {
  if (LayeredSource* layers = source.layered()) layers->set_memory(memory);
}

}  // namespace tributary
