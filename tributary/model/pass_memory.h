// How much memory the training passes of a backbone may take.
#pragma once

#include <cstdint>
#include <string>

namespace tributary {

// Passes whose activations are recomputed in the backward pass, segment by segment (network_segments.h), instead of
// stored. The result is the same.
enum class Recompute {
  kNone,
  kWaiting,  // those whose backward pass follows only after passes of other sources
  kAll,      // sources then also run one after the other instead of in parallel branches
};

struct PassMemory {
  Recompute recompute = Recompute::kNone;
  int64_t micro_batch = 0;  // pictures at once (micro_batch.h), which changes BatchNorm's statistics; 0: all
  int64_t segments = 0;     // that are recomputed: the first ones, which have the largest maps; 0: all

  bool operator==(const PassMemory&) const = default;
};

// "none", "waiting" or "all".
const char* name_of(Recompute recompute);
// As in "recomputed activations" and "micro-batches of 16".
std::string description(const PassMemory& memory);

}  // namespace tributary
