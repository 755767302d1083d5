#include "tributary/experiments/digits_demo.h"

#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/stopwatch.h"
#include "tributary/base/text.h"
#include "tributary/data/digits/digits.h"
#include "tributary/eval/metrics.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/run/observers.h"
#include "tributary/terminal/table.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

struct Domain {
  LabelledImages training, test;
};

Domain make_domain(const std::string& name, int64_t pictures, uint64_t seed) {
  const DigitDomain domain = digit_domain(name);
  return {make_digits(domain, pictures, 2 * seed), make_digits(domain, pictures, 2 * seed + 1)};
}

// One repetition: the domains and their models for one seed.
class Repetition {
 public:
  Repetition(const DigitsDemoOptions& options, uint64_t seed, torch::Device device, Progress& progress)
      : options_(options), seed_(seed), device_(device), progress_(progress) {
    for (const std::string& name : digit_domain_names()) domains_[name] = make_domain(name, options.pictures, seed);
  }

  void run(DemoRow& row) {
    const Domain& target = domains_.at(row.target);
    const Tensor label = torch::tensor(target.test.labels.values, torch::kInt64).to(device_);
    Ensemble plain = sources_for(row.target);
    const Tensor logits = evaluate_logits(plain, DeviceImages(target.test.images, device_));
    for (int64_t j = 0; j < plain.size(); ++j)
      row.sources[plain.sources[j].info().name].push_back(accuracy_of(logits[j], label));
    row.source_ensemble.push_back(accuracy_of(combine(logits, plain.mixture), label));

    SelectiveOptions adapt = options_.adapt;
    adapt.seed = static_cast<int64_t>(seed_);
    const auto [last, best] = adapted_accuracy("adaptation", row.target, [&](Ensemble& ensemble, Observer& observer) {
      SelectiveSelfTraining(adapt).adapt(ensemble, target.training.images, observer);
    });
    row.adapted.push_back(last);
    row.oracle_best_round.push_back(best);
    if (!options_.oracle) return;
    row.oracle.push_back(
        adapted_accuracy("the selective oracle", row.target, [&](Ensemble& ensemble, Observer& observer) {
          Checkpointer none;
          adapt_with_oracle(ensemble, target.training.images, target.training.labels, adapt, observer, none);
        }).first);
  }

 private:
  // Accuracy on the target's test split after the last round, and in the best round.
  template <typename Adapt>
  std::pair<double, double> adapted_accuracy(const char* what, const std::string& target, Adapt adapt) {
    Ensemble ensemble = sources_for(target);
    progress_.line(fmt::format("{}:", what));
    ProgressObserver shown(progress_);
    AccuracyObserver accuracy(domains_.at(target).test, device_);
    Observers observers({&accuracy, &shown});
    adapt(ensemble, observers);
    progress_.finish();
    return {accuracy.last(), accuracy.oracle_best()};
  }

  Ensemble sources_for(const std::string& target) {
    Ensemble ensemble;
    for (const std::string& name : digit_domain_names()) {
      if (name == target) continue;
      if (!trained_.count(name)) train(name);
      ensemble.sources.emplace_back(info_of(name), Random(0));
      ensemble.sources.back().to(device_);
      ensemble.sources.back().restore(trained_.at(name));
    }
    return ensemble;
  }

  ModelInfo info_of(const std::string& name) const {
    return fresh_info(name, options_.architecture, domains_.at(name).training.labels.classes);
  }

  void train(const std::string& name) {
    const Domain& domain = domains_.at(name);
    uint64_t number = 0;
    while (digit_domain_names()[number] != name) ++number;
    const uint64_t seed = seed_ * 1000 + number;
    SourceModel model(info_of(name), Random(seed, Purpose::kInitialise), options_.training.classifier_init);
    model.to(device_);
    const double accuracy = train_source(
        model, domain.training, domain.test, options_.training, seed, [&](const SourceTrainingProgress& at) {
          progress_.update(static_cast<double>(at.step) / static_cast<double>(at.steps), "train " + name, "");
        });
    progress_.finish();
    progress_.line(fmt::format("source {} trained: {} % on its own test pictures", name, percent(accuracy)));
    trained_[name] = copy_of(model.state());
  }

  const DigitsDemoOptions& options_;
  uint64_t seed_;
  torch::Device device_;
  Progress& progress_;
  std::map<std::string, Domain> domains_;
  std::map<std::string, NamedTensors> trained_;
};

std::string cell(const std::vector<double>& accuracies) {
  if (accuracies.empty()) return "";
  const auto [mean, deviation] = mean_and_deviation(accuracies);
  return accuracies.size() == 1 ? percent(mean) : percent(mean) + " ± " + percent(deviation);
}

std::string sources_cell(const DemoRow& row) {
  std::string text;
  for (const std::string& name : digit_domain_names())
    if (row.sources.count(name))
      text += (text.empty() ? "" : ", ") + name + " " + percent(mean_and_deviation(row.sources.at(name)).mean);
  return text;
}

// Mean over the targets, one value per seed.
std::vector<double> over_targets(const std::vector<DemoRow>& rows, std::vector<double> DemoRow::*column) {
  std::vector<double> means = rows.front().*column;
  for (size_t s = 0; s < means.size(); ++s) {
    means[s] = 0;
    for (const DemoRow& row : rows) means[s] += (row.*column)[s] / static_cast<double>(rows.size());
  }
  return means;
}

nlohmann::json figure(const std::vector<double>& accuracies) {
  if (accuracies.empty()) return nullptr;
  return 100 * mean_and_deviation(accuracies).mean;
}

nlohmann::json percents(const std::vector<double>& accuracies) {
  nlohmann::json list = nlohmann::json::array();
  for (const double accuracy : accuracies) list.push_back(100 * accuracy);
  return list;
}

}  // namespace

DigitsDemoOptions demo_defaults() {
  DigitsDemoOptions options;
  options.training.epochs = 30;
  apply_variant(options.adapt, Variant::kTributary);
  options.adapt.rounds = 10;
  options.adapt.inner_epochs = 1;
  return options;
}

void declare(OptionTable& table, DigitsDemoOptions& options) {
  const std::string section = "demo";
  table.text(section, "target", &options.target,
             "domain to adapt to: handwriting, postal, textured, signs, street or all");
  table.text(section, "architecture", &options.architecture, "architecture of the sources: lenet or dtn");
  table.integer(section, "pictures", &options.pictures, 20, 1000000,
                "training pictures per domain, and as many test pictures");
  table.integer(section, "seeds", &options.seeds, 1, 1000,
                "repetitions; the table then shows means and standard deviations");
  table.flag(section, "oracle", &options.oracle, "also run the selective oracle, which sees the true labels");
  table.integer(section, "source_epochs", &options.training.epochs, 1, 100000, "passes of source training");
  declare(table, options.adapt);
}

DemoResult run_digits_demo(const DigitsDemoOptions& options, torch::Device device, Progress& progress) {
  const Stopwatch watch;
  DemoResult result;
  if (options.target == "all") {
    for (const std::string& name : digit_domain_names()) result.rows.emplace_back(name);
  } else {
    digit_domain(options.target);
    result.rows.emplace_back(options.target);
  }
  for (int64_t s = 0; s < options.seeds; ++s) {
    const auto seed = static_cast<uint64_t>(options.adapt.seed + s);
    Repetition repetition(options, seed, device, progress);
    for (DemoRow& row : result.rows) {
      progress.line(fmt::format(
          "target {}, seed {}: four sources, {} unlabelled pictures, {} round{} of {} inner epoch{}", row.target, seed,
          thousands(options.pictures), options.adapt.rounds, options.adapt.rounds == 1 ? "" : "s",
          options.adapt.inner_epochs, options.adapt.inner_epochs == 1 ? "" : "s"));
      repetition.run(row);
    }
  }
  result.seconds = watch.seconds();
  return result;
}

std::string demo_table(const DemoResult& result, bool markdown) {
  const bool oracle = !result.rows.front().oracle.empty();
  std::vector<Column> columns = {
      {"target"}, {"each source alone"}, {"source ensemble", Align::kRight}, {"adapted", Align::kRight}};
  if (oracle) columns.push_back({"oracle", Align::kRight});
  Table table(columns);
  const auto add = [&](std::vector<std::string> cells, const std::vector<double>& of_oracle) {
    if (oracle) cells.push_back(cell(of_oracle));
    table.add_row(cells);
  };
  for (const DemoRow& row : result.rows)
    add({row.target, sources_cell(row), cell(row.source_ensemble), cell(row.adapted)}, row.oracle);
  if (result.rows.size() > 1)
    add({"mean", "", cell(over_targets(result.rows, &DemoRow::source_ensemble)),
         cell(over_targets(result.rows, &DemoRow::adapted))},
        over_targets(result.rows, &DemoRow::oracle));
  return markdown ? table.to_markdown() : table.to_text(terminal_columns());
}

nlohmann::json demo_json(const DemoResult& result, const DigitsDemoOptions& options) {
  nlohmann::json object = {{"architecture", options.architecture},
                           {"pictures", options.pictures},
                           {"rounds", options.adapt.rounds},
                           {"inner_epochs", options.adapt.inner_epochs},
                           {"seeds", options.seeds},
                           {"seed", options.adapt.seed},
                           {"seconds", result.seconds},
                           {"rows", nlohmann::json::array()}};
  for (const DemoRow& row : result.rows) {
    nlohmann::json sources;
    for (const auto& [name, accuracies] : row.sources) sources[name] = figure(accuracies);
    object["rows"].push_back({{"target", row.target},
                              {"sources", sources},
                              {"source_ensemble", figure(row.source_ensemble)},
                              {"adapted", figure(row.adapted)},
                              {"oracle", figure(row.oracle)},
                              {"oracle_best_round", figure(row.oracle_best_round)},
                              {"seeds",
                               {{"source_ensemble", percents(row.source_ensemble)},
                                {"adapted", percents(row.adapted)},
                                {"oracle", percents(row.oracle)}}}});
  }
  object["mean"] = {{"source_ensemble", figure(over_targets(result.rows, &DemoRow::source_ensemble))},
                    {"adapted", figure(over_targets(result.rows, &DemoRow::adapted))},
                    {"oracle", figure(over_targets(result.rows, &DemoRow::oracle))}};
  return object;
}

}  // namespace tributary
