// Helpers for tests of adaptation methods.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/registry.h"

namespace tributary::test {

// Records the events of a method; of divided rows, all ranks' probabilities and scores.
struct Recorder : Observer {
  std::vector<RoundEvent> rounds;
  int64_t steps = 0;
  void on_step(const StepEvent&) override { ++steps; }
  void on_round(const RoundEvent& event) override {
    rounds.push_back(event);
    RoundEvent& last = rounds.back();
    last.probabilities = event.rows.gather(event.probabilities);
    if (event.score.defined()) last.score = event.rows.gather(event.score);
    if (event.logits.defined()) last.logits = event.rows.gather(event.logits, 1);
    last.rows = {};
  }
};

// The probabilities that round `round` reported.
inline Tensor after(const Recorder& recorder, size_t round) {
  return recorder.rounds.at(round).probabilities;
}

// A few epochs with small batches.
inline MethodOptions quick(int64_t epochs = 2) {
  MethodOptions options;
  options.epochs = epochs;
  options.batch = 8;
  return options;
}

// The method, configured with `lines` of TOML in its section.
inline std::unique_ptr<Method> configured(const MethodEntry& entry, const std::string& lines,
                                          const MethodOptions& common = quick()) {
  OptionTable table;
  entry.declare(table);
  table.read_toml_text("[" + entry.name + "]\n" + lines, "test.toml");
  table.apply_toml();
  return entry.make(common);
}

}  // namespace tributary::test
