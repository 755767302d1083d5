#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/estimate/acceptance.h"
#include "tributary/io/score_file.h"
#include "tributary/run/predictions.h"
#include "tributary/train/evaluate.h"

namespace tributary::cli {
namespace {

// The confidence below which the run of a single run folder checks predictions; none for models without a run.
std::optional<double> check_threshold_of(const std::vector<std::string>& models) {
  const std::string file = models.front() + "/summary.json";
  std::error_code error;
  if (models.size() != 1 || !std::filesystem::exists(file, error)) return std::nullopt;
  const auto summary = nlohmann::json::parse(read_text(file), nullptr, /*allow_exceptions=*/false);
  const auto threshold = nlohmann::json::json_pointer("/confidence/check_below");
  if (!summary.is_object() || !summary.contains(threshold) || !summary.at(threshold).is_number()) return std::nullopt;
  return summary.at(threshold).get<double>();
}

class Predict : public Command {
 public:
  std::string name() const override { return "predict"; }
  std::string summary() const override { return "Classify pictures"; }
  std::string example() const override {
    return "tributary predict runs/photos --data more-photos/ --out predictions.csv";
  }

  void declare(CLI::App& app) override {
    app.add_option("model", models_, "run folder, mixture file, or sources (a plain ensemble)")
        ->required()
        ->type_name("FILE");
    common_.declare(table_);
    data_.max_skipped = 1;  // an unreadable picture does not affect the others
    table_
        .text("", "data", &data_path_,
              "pictures: a folder, a list file, a picture, tar shards, NAME-images.idx or digits in a .mat file")
        .metavar("DATA")
        .transient();
    table_.text("", "out", &out_, "file to write; standard output if not given").metavar("FILE").transient();
    table_
        .text(
            "", "scores", &scores_,
            "file to write the probabilities of all classes to (.csv, .npy or .npz), which tributary adapt takes as a "
            "source")
        .metavar("FILE")
        .transient();
    table_.text("", "rule", &rule_, "combination of several models: mean_prob, mean_logit or vote");
    data_.declare(table_);
    tributary::declare(table_, import_);
    table_.help_group("Input and output", {"data", "out", "scores", "rule", "root", "max_skipped", "config", "json"});
    table_.help_group("Imported weights", {"architecture", "size", "classes", "trust", "last_layer"});
    table_.help_group("Hardware", {"device", "threads"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    if (data_path_.empty()) input_error("name the pictures with --data");
    if (!out_.empty()) require_writable_target(out_);
    if (!scores_.empty() && !is_score_file(scores_))
      input_error("--scores {}: name a file that ends in .csv, .npy or .npz", scores_);
    if (!scores_.empty()) {
      require_writable_target(scores_);
      require_names_file(scores_);
    }
    const torch::Device device = common_.prepare();
    Ensemble ensemble = load_named_models(name(), models_, rule_, import_);
    std::vector<SkippedPicture> bad;
    const ImageSet images =
        load_images(data_path_, data_.for_preprocessing(ensemble.preprocessing(), common_.threads), &bad);
    report_skipped(name(), bad, images.size() + static_cast<int64_t>(bad.size()));
    ensemble.to(device);
    const Tensor logits = evaluate_logits(ensemble, DeviceImages(images, device));
    const Tensor probabilities = combine(logits, ensemble.mixture);
    PredictedLabels predictions = predicted_labels(probabilities, logits, ensemble.known());
    if (!scores_.empty()) write_scores(images, ensemble, probabilities);
    if (const auto threshold = check_threshold_of(models_); threshold && rule_.empty())
      predictions.check = below_threshold(predictions.confidence, *threshold);
    const std::string text = predictions_text(images, bad, ensemble, predictions,
                                              common_.json ? PredictionFormat::kJsonLines : PredictionFormat::kCsv);
    if (out_.empty()) {
      if (scores_.empty()) print(text);
      return;
    }
    make_folder(std::filesystem::absolute(out_).parent_path().string());
    write_file_atomically(out_, text);
    print_message(fmt::format("{}: {} predictions", out_, thousands(images.size())));
  }

 private:
  void write_scores(const ImageSet& images, const Ensemble& ensemble, const Tensor& probabilities) const {
    const Tensor host = probabilities.to(torch::kCPU, torch::kFloat32).contiguous();
    const float* const values = host.data_ptr<float>();
    write_score_file(
        {scores_, images.names, ensemble.classes(), host.size(0), host.size(1), {values, values + host.numel()}});
    print_message(fmt::format("{}: probabilities of {} pictures", scores_, thousands(images.size())));
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  std::vector<std::string> models_;
  std::string data_path_, out_, scores_, rule_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_predict() {
  return std::make_unique<Predict>();
}

}  // namespace tributary::cli
