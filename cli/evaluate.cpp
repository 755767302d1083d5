#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/estimate/calibration_error.h"
#include "tributary/estimate/proportion.h"
#include "tributary/eval/metrics.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/audit.h"
#include "tributary/terminal/table.h"
#include "tributary/train/evaluate.h"

namespace tributary::cli {
namespace {

// With more classes, --json lists the cells of the confusion matrix that are not zero.
constexpr int64_t kMostDense = 1000;

class Evaluate : public Command {
 public:
  std::string name() const override { return "evaluate"; }
  std::string summary() const override { return "Compare predictions with labels"; }
  std::string example() const override { return "tributary evaluate runs/photos --data labelled-photos/"; }

  void declare(CLI::App& app) override {
    app.add_option("model", models_, "run folder, mixture file, or sources (a plain ensemble)")
        ->required()
        ->type_name("FILE");
    common_.declare(table_);
    table_
        .text("", "data", &data_path_,
              "labelled pictures: class folders, a list with labels, tar shards, NAME-images.idx or digits in a .mat "
              "file")
        .metavar("DATA")
        .transient();
    table_
        .text(
            "", "audit", &audit_,
            "instead of --data: a labelled sample of tributary suggest --random, which measures the accuracy of a run "
            "on its pictures, with a 95 % interval")
        .metavar("FILE")
        .transient();
    table_.text("", "rule", &rule_, "combination of several models: mean_prob, mean_logit or vote");
    data_.declare(table_);
    tributary::declare(table_, import_);
    table_.help_group("Input and output", {"data", "audit", "rule", "root", "max_skipped", "config", "json"});
    table_.help_group("Imported weights", {"architecture", "size", "classes", "trust", "last_layer"});
    table_.help_group("Hardware", {"device", "threads"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    if (!audit_.empty()) return audit();
    if (data_path_.empty()) input_error("name the labelled pictures with --data");
    const torch::Device device = common_.prepare();
    Ensemble ensemble = load_named_models(name(), models_, rule_, import_);
    std::vector<SkippedPicture> bad;
    const LabelledImages data = load_labelled(
        data_path_, data_.for_preprocessing(ensemble.preprocessing(), common_.threads), ensemble.classes(), &bad);
    report_skipped(name(), bad, data.images.size() + static_cast<int64_t>(bad.size()));
    ensemble.to(device);
    const Tensor label = torch::tensor(data.labels.values, torch::kInt64).to(device);
    const Tensor logits = evaluate_logits(ensemble, DeviceImages(data.images, device));
    const Tensor probabilities = combine(logits, ensemble.mixture);
    const Tensor own = own_logits(logits, ensemble.known());
    const Confusion confusion = confusion_of(probabilities, data.labels);
    const auto [confidence, predicted] = probabilities.max(1);
    const std::vector<double> by_class = class_accuracies(confusion);

    nlohmann::json result = {{"pictures", data.images.size()},
                             {"skipped", bad.size()},
                             {"accuracy", 100 * accuracy_of(probabilities, label)},
                             {"mean_confidence", 100 * confidence.to(torch::kFloat64).mean().item<double>()},
                             {"calibration_error", expected_calibration_error(confidence, predicted == label)},
                             {"classes", data.labels.classes},
                             {"class_pictures", class_sizes(confusion)}};
    if (confusion.classes <= kMostDense) {
      result["confusion"] = dense(confusion);
    } else {
      for (const auto& [cell, count] : confusion.counts)
        result["confusion_cells"].push_back({cell.first, cell.second, count});
    }
    for (int64_t j = 0; j < ensemble.size(); ++j)
      result["sources"].push_back(
          {{"name", ensemble.sources[j].info().name}, {"accuracy", 100 * accuracy_of(own[j], label)}});
    for (const SkippedPicture& picture : bad)
      result["skipped_pictures"].push_back({{"picture", picture.path}, {"reason", picture.reason}});
    for (const double share : by_class)
      result["class_accuracy"].push_back(std::isnan(share) ? nlohmann::json() : nlohmann::json(100 * share));
    if (common_.json) {
      print(json_text(result, 2) + "\n");
      return;
    }
    show(result);
  }

 private:
  // Needs the run's predictions only.
  void audit() {
    if (!data_path_.empty()) input_error("--audit and --data exclude each other: give one of them");
    if (models_.size() != 1) input_error("--audit measures one run, and there are {}", models_.size());
    const std::string& run = models_.front();
    if (model_path(run) == run) input_error("{} is not a run folder; name a run folder with --audit", run);
    std::vector<std::string> trained;
    if (const std::string given = run + "/given_labels.csv"; std::filesystem::exists(given))
      for (const LabelRow& row : read_label_file(given)) trained.push_back(row.picture);
    const AuditResult result = audit_of(read_label_file(audit_), audit_, stored_predictions(run + "/predictions.csv"),
                                        describe_sources(model_path(run)).front().classes, trained);
    if (result.labelled == 0) input_error("the run trained on all labels of {}; draw a new audit sample", audit_);
    const auto count = static_cast<double>(result.labelled);
    const Interval interval = exact_interval(result.right, result.labelled);
    const double share = static_cast<double>(result.right) / count;
    if (common_.json) {
      print(json_text({{"accuracy", 100 * share},
                       {"low", 100 * interval.low},
                       {"high", 100 * interval.high},
                       {"right", result.right},
                       {"labelled", result.labelled},
                       {"drawn", result.drawn},
                       {"trained", result.trained}},
                      2) +
            "\n");
      return;
    }
    print(fmt::format(
        "accuracy  {} %, with 95 % confidence between {} and {} %\n          {} of {} labelled pictures are "
        "right{}\n",
        percent(share), percent(interval.low), percent(interval.high), thousands(result.right),
        thousands(result.labelled),
        result.trained > 0
            ? fmt::format("; {} more do not count, because the run trained on them", thousands(result.trained))
            : ""));
  }

  static void show(const nlohmann::json& result) {
    const auto figure = [](const nlohmann::json& value) {
      return value.is_null() ? std::string("-") : percent(value.get<double>() / 100);
    };
    Table sources({{"model"}, {"accuracy %", Align::kRight}});
    for (const auto& source : result.at("sources")) sources.add_row({source.at("name"), figure(source.at("accuracy"))});
    if (result.at("sources").size() > 1) sources.add_row({"together", figure(result.at("accuracy"))});
    Table classes({{"class"}, {"pictures", Align::kRight}, {"right %", Align::kRight}});
    for (size_t k = 0; k < result.at("classes").size(); ++k)
      classes.add_row({result.at("classes").at(k), thousands(result.at("class_pictures").at(k).get<int64_t>()),
                       figure(result.at("class_accuracy").at(k))});
    print(fmt::format("{}\n{}\nmean confidence {} %, expected calibration error {:.3f}\n", sources.to_text(),
                      classes.to_text(), figure(result.at("mean_confidence")),
                      result.at("calibration_error").get<double>()));
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  std::vector<std::string> models_;
  std::string data_path_, rule_, audit_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_evaluate() {
  return std::make_unique<Evaluate>();
}

}  // namespace tributary::cli
