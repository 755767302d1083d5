#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/methods/selective.h"
#include "tributary/model/model_file.h"
#include "tributary/report/observers.h"
#include "tributary/report/predictions.h"
#include "tributary/report/run_folder.h"
#include "tributary/report/table.h"

namespace tributary::cli {
namespace {

// Keeps what the end of the run needs of the last round.
class LastRound : public Observer {
 public:
  void on_round(const RoundEvent& event) override {
    if (event.round == 0) initial = event;
    last = event;
    last.trained = nullptr;
    if (event.trained) confident = event.trained->confident.size(0);
    seconds += event.seconds;
    phases.training += event.round > 0 ? event.phases.training : 0;
    phases.evaluation += event.phases.evaluation;
    phases.weights += event.phases.weights;
    phases.labels += event.phases.labels;
  }
  RoundEvent initial, last;
  int64_t confident = 0;
  double seconds = 0;
  PhaseSeconds phases;
};

class Adapt : public Command {
 public:
  std::string name() const override { return "adapt"; }
  std::string summary() const override { return "Adapt several source models together to unlabelled pictures"; }
  std::string example() const override {
    return "tributary adapt --source a.safetensors --source b.safetensors --target photos/ --run runs/photos";
  }

  void declare(CLI::App& app) override {
    common_.declare(table_);
    table_.texts("", "source", &sources_,
                 "source: a model file, a PyTorch checkpoint, or a folder with source_F.pt, source_B.pt and "
                 "source_C.pt; give at "
                 "least one");
    table_.text("", "target", &target_, "unlabelled pictures: a folder, a list file or NAME-images.idx");
    table_.text("", "run", &run_, "folder for the run; runs/DOMAIN, after the target, if not given").transient();
    table_.text("", "oracle_labels", &oracle_,
                "labelled pictures equal to the target's: runs the selective oracle, which trains on what is labelled "
                "right; not for use, but to see the ceiling");
    tributary::declare(table_, options_);
    data_.declare(table_);
    tributary::declare(table_, import_);
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.read_config(table_);
    settle(table_, options_);
    if (sources_.empty()) input_error("name the source models, each with --source FILE");
    if (target_.empty()) input_error("name the unlabelled pictures with --target");
    if (run_.empty()) run_ = "runs/" + domain_of(target_);
    const torch::Device device = common_.prepare();
    RunFolder folder(run_, table_.to_toml());
    if (folder.finished()) {
      std::cerr << fmt::format("tributary adapt: {} is already finished; remove it to run again\n", run_);
      show(folder.summary());
      return;
    }
    Ensemble ensemble = load_sources(sources_, import_);
    std::vector<SetAside> bad;
    const LoadOptions load_options = data_.for_framing(ensemble.framing(), common_.threads);
    const ImageSet target = load_images(target_, load_options, &bad);
    report_set_aside(name(), bad, target.size() + static_cast<int64_t>(bad.size()));
    std::optional<LabelledImages> oracle;
    if (!oracle_.empty()) oracle = load_labelled(oracle_, load_options, ensemble.classes());
    if (oracle && oracle->images.size() != target.size())
      input_error("{} has {} labels for {} pictures of {}; the oracle needs one for each", oracle_,
                  thousands(oracle->images.size()), thousands(target.size()), target_);
    if (target.size() < 2)
      input_error("{} has {} picture{}; adaptation needs at least 2", target_, target.size(),
                  target.size() == 1 ? "" : "s");

    folder.begin();
    ensemble.to(device);
    Progress progress(std::cerr, is_terminal(), common_.json);
    ProgressObserver shown(progress);
    MetricsObserver metrics(folder);
    LastRound last;
    Observers observers({&shown, &metrics, &last});
    if (oracle)
      adapt_with_oracle(ensemble, target, oracle->labels, options_, observers);
    else
      SelectiveSelfTraining(options_).adapt(ensemble, target, observers);
    progress.finish();

    save_ensemble(folder.file("model.safetensors"), ensemble);
    write_file_atomically(
        folder.file("predictions.csv"),
        predictions_text(target, bad, ensemble, last.last.probabilities, last.last.logits, PredictionFormat::kCsv));
    folder.finish(summary_of(last, bad));
    show(folder.summary());
  }

 private:
  nlohmann::json summary_of(const LastRound& last, const std::vector<SetAside>& bad) const {
    nlohmann::json sources = nlohmann::json::array();
    const Tensor share = normalised_weights(last.last.weights).cpu();
    for (int64_t j = 0; j < last.last.ensemble->size(); ++j)
      sources.push_back({{"name", last.last.ensemble->sources[j].info().name},
                         {"file", sources_[j]},
                         {"weight", share[j].item<double>()}});
    const auto changed = (last.initial.probabilities.argmax(-1) != last.last.probabilities.argmax(-1));
    return {{"run", run_},
            {"method", oracle_.empty() ? "selective" : "selective-oracle"},
            {"pictures", last.last.probabilities.size(0)},
            {"set_aside", bad.size()},
            {"rounds", last.last.rounds},
            {"initial_confident", last.last.initial_confident},
            {"confident", last.confident},
            {"sources", sources},
            {"changed_share", changed.to(torch::kFloat64).mean().item<double>()},
            {"seconds", last.seconds},
            {"phases",
             {{"training", last.phases.training},
              {"evaluation", last.phases.evaluation},
              {"weights", last.phases.weights},
              {"labels", last.phases.labels}}},
            {"model", run_ + "/model.safetensors"},
            {"predictions", run_ + "/predictions.csv"}};
  }

  void show(const nlohmann::json& summary) const {
    if (common_.json) {
      std::cout << summary.dump(2) << '\n';
      return;
    }
    Table table({{"source"}, {"weight", Align::kRight}});
    for (const auto& source : summary.at("sources"))
      table.add_row({source.at("name"), fmt::format("{:.3f}", source.at("weight").get<double>())});
    std::cout << table.to_text()
              << fmt::format(
                     "\n{} pictures, {} rounds, {}; {} % of the predictions changed since the start\nmodel        "
                     "{}\npredictions  {}\n",
                     thousands(summary.at("pictures").get<int64_t>()), summary.at("rounds").get<int64_t>(),
                     duration(summary.at("seconds").get<double>()), percent(summary.at("changed_share").get<double>()),
                     summary.at("model").get<std::string>(), summary.at("predictions").get<std::string>());
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  SelectiveOptions options_;
  std::vector<std::string> sources_;
  std::string target_, run_, oracle_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_adapt() {
  return std::make_unique<Adapt>();
}

}  // namespace tributary::cli
