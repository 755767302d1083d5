// Retries work that ran out of GPU memory with passes that take less of it (model/pass_memory.h).
#pragma once

#include <functional>

#include "tributary/base/options.h"
#include "tributary/model/ensemble.h"
#include "tributary/model/pass_memory.h"

namespace tributary {

// Declares `recompute` in a section.
void declare_recompute(OptionTable& table, const std::string& section, Recompute& recompute);

// The passes to try after `memory` with a batch of `batch` pictures: more of them recomputed, then micro-batches of
// half of the batch, a quarter and so on down to 2 pictures. Nothing if none is left.
std::optional<PassMemory> with_less_memory(const PassMemory& memory, int64_t batch);

// Calls attempt(memory). While it runs out of GPU memory, retries with less of it, and calls `tell` before each retry.
// Returns what worked; rethrows the last error if nothing did.
PassMemory retry_with_less_memory(PassMemory memory, int64_t batch, torch::Device device,
                                  const std::function<void(const PassMemory& memory)>& attempt,
                                  const std::function<void(const PassMemory& memory)>& tell);

// Limits the memory of all further passes of the backbone. TorchScript sources are not limited.
void set_memory(SourceModel& source, const PassMemory& memory);

}  // namespace tributary
