// The built-in benchmark: five domains of generated digits, each in turn the unlabelled target.
//
// Sources are trained on four domains and adapted jointly to the fifth. Adaptation sees the pictures of the target's
// training split. Results are accuracies on its test split after the last round.
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
  int64_t pictures = 1000;  // per domain for training, and as many for testing
  int64_t seeds = 1;        // repetitions, with seeds seed, seed + 1, ..
  bool oracle = false;      // also run the selective oracle
  SourceTrainingOptions training;
  SelectiveOptions adapt;
};

// Defaults of the demo: few pictures, few rounds, one inner epoch.
DigitsDemoOptions demo_defaults();
// Declares [demo] and [adapt].
void declare(OptionTable& table, DigitsDemoOptions& options);

// Accuracies on one target, one value per seed.
struct DemoRow {
  explicit DemoRow(std::string name) : target(std::move(name)) {}

  std::string target;
  std::map<std::string, std::vector<double>> sources;  // per source
  std::vector<double> source_ensemble, adapted, oracle_best_round, oracle;
};

struct DemoResult {
  std::vector<DemoRow> rows;
  double seconds = 0;
};

DemoResult run_digits_demo(const DigitsDemoOptions& options, torch::Device device, Progress& progress);

// The table as text, with the mean over the targets if there are several.
std::string demo_table(const DemoResult& result, bool markdown);
// {"rows": [{"target", "sources", "source_ensemble", "adapted", "oracle"}, ..], "mean": {..}, ..} in percent.
nlohmann::json demo_json(const DemoResult& result, const DigitsDemoOptions& options);

}  // namespace tributary
