#include "tributary/model/pass_memory.h"

#include <fmt/format.h>

namespace tributary {

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kWaiting:
      return "waiting";
    case Recompute::kAll:
      return "all";
  }
  return "";
}

std::string description(const PassMemory& memory) {
  if (memory.micro_batch > 0) return fmt::format("micro-batches of {}", memory.micro_batch);
  switch (memory.recompute) {
    case Recompute::kNone:
      return "stored activations";
    case Recompute::kWaiting:
      return fmt::format("recomputed activations{} where passes wait for others",
                         memory.segments > 0 ? fmt::format(" of the first {} segments", memory.segments) : "");
    case Recompute::kAll:
      return "recomputed activations";
  }
  return {};
}

}  // namespace tributary
