// The embedded benchmark: five domains of drawn digits, each in turn the target that nobody has labels for.
//
// Sources are trained on four domains and adapted together to the fifth. Adaptation sees the pictures of the target's
// training part; the figures are accuracies on its test part, after the last round.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/terminal/progress.h"
#include "tributary/train/source_training.h"

namespace tributary {

struct DigitsDemoOptions {
  std::string target = "textured";  // a domain, or "all"
  std::string architecture = "lenet";
  int64_t pictures = 1000;  // a domain, for training, and as many for testing
  int64_t seeds = 1;        // repetitions, with seeds seed, seed + 1, ..
  bool oracle = false;      // run the selective oracle too
  SourceTrainingOptions training;
  SelectiveOptions adapt;
};

// The reduced setting of the demo: few pictures, few rounds, one inner epoch.
DigitsDemoOptions demo_defaults();
// Declares [demo] and [adapt].
void declare(OptionTable& table, DigitsDemoOptions& options);

// The figures of one target, one value a seed.
struct DemoRow {
  explicit DemoRow(std::string name) : target(std::move(name)) {}

  std::string target;
  std::map<std::string, std::vector<double>> sources;  // each source alone
  std::vector<double> source_ensemble, adapted, oracle_best_round, oracle;
};

struct DemoResult {
  std::vector<DemoRow> rows;
  double seconds = 0;
};

DemoResult run_digits_demo(const DigitsDemoOptions& options, torch::Device device, Progress& progress);

// The table as text; a mean over the targets where there are several.
std::string demo_table(const DemoResult& result, bool markdown);
// {"rows": [{"target", "sources", "source_ensemble", "adapted", "oracle"}, ..], "mean": {..}, ..} in percent.
nlohmann::json demo_json(const DemoResult& result, const DigitsDemoOptions& options);

}  // namespace tributary
