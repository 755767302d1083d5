// Whether the result of an adaptation should be used, from figures that need no labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tributary/estimate/accuracy_estimate.h"

namespace tributary {

enum class Decision { kUse, kCheck, kDoNotUse };

// "use", "check" or "do not use".
const char* name_of(Decision decision);

// What the verdict rests on.
struct VerdictFacts {
  std::vector<std::string> collapse;  // signs of collapse (adapt/collapse.h) in the result
  std::optional<AccuracyEstimate> before, after;
  bool adapted = true;               // whether the result differs from the unadapted mixture
  bool contradicts_sources = false;  // WitnessVerdict::rejected
  bool adapted_before = false;       // whether the sources had been adapted together before, so that no estimate holds
  int64_t sources = 0, pictures = 0;
  int64_t rare_classes = 0;  // predicted for less than 1 / (10 K) of the pictures
  double required = 0.8;     // accuracy that the user needs
};

struct Verdict {
  Decision decision = Decision::kUse;
  std::vector<std::string> reasons;  // sentences without a full stop; at least one
};

// "do not use" if the result shows collapse, is clearly worse than the unadapted mixture, or contradicts the sources;
// else "check" if the estimate is missing, wide or below what is required; else "use".
Verdict verdict_of(const VerdictFacts& facts);

}  // namespace tributary
