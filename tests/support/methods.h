// What tests of the compared methods share.
#pragma once

#include <memory>
#include <string>
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

// A few passes in small batches.
inline BaselineOptions quick(int64_t epochs = 2) {
  BaselineOptions options;
  options.epochs = epochs;
  options.batch = 8;
  return options;
}

// The method with these lines in its section of a configuration.
inline std::unique_ptr<Method> configured(const MethodEntry& entry, const std::string& lines,
                                          const BaselineOptions& common = quick()) {
  OptionTable table;
  entry.declare(table);
  table.read_toml_text("[" + entry.name + "]\n" + lines, "test.toml");
  table.apply_toml();
  return entry.make(common);
}

}  // namespace tributary::test
