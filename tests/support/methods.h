// What tests of the compared methods share.
#pragma once

#include <vector>

#include "tributary/methods/registry.h"

namespace tributary::test {

// Keeps what a method tells of itself.
struct Recorder : Observer {
  std::vector<RoundEvent> rounds;
  int64_t steps = 0;
  void on_step(const StepEvent&) override { ++steps; }
  void on_round(const RoundEvent& event) override { rounds.push_back(event); }
};

// Two passes in small batches.
inline BaselineOptions quick() {
  BaselineOptions options;
  options.epochs = 2;
  options.batch = 8;
  return options;
}

}  // namespace tributary::test
