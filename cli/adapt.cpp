#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/methods/registry.h"
#include "tributary/methods/selective.h"
#include "tributary/model/model_file.h"
#include "tributary/report/observers.h"
#include "tributary/report/predictions.h"
#include "tributary/report/run_folder.h"
#include "tributary/report/run_summary.h"
#include "tributary/report/run_watch.h"

namespace tributary::cli {
namespace {

// Keeps what the end of the run needs of the last round.
class LastRound : public Observer {
 public:
  void on_round(const RoundEvent& event) override {
    last = event;
    last.trained = nullptr;
    last.features.clear();
    if (event.round == 0) first_labels = labels_of(event);
    if (event.score.defined())
      confident.push_back(event.trained ? event.trained->confident.size(0) : event.initial_confident);
    seconds += event.seconds;
    phases.training += event.round > 0 ? event.phases.training : 0;
    phases.evaluation += event.phases.evaluation;
    phases.weights += event.phases.weights;
    phases.labels += event.phases.labels;
  }
  void save(nlohmann::json& state) const override {
    state["first_labels"] = first_labels;
    state["confident"] = confident;
    state["seconds"] = {seconds, phases.training, phases.evaluation, phases.weights, phases.labels};
  }
  void restore(const nlohmann::json& state) override {
    first_labels = state.at("first_labels").get<std::vector<int64_t>>();
    confident = state.at("confident").get<std::vector<int64_t>>();
    const auto known = state.at("seconds").get<std::array<double, 5>>();
    seconds = known[0];
    phases = {known[1], known[2], known[3], known[4]};
  }
  // The share of pictures that are predicted otherwise than before any training.
  double changed_share() const {
    const std::vector<int64_t> labels = labels_of(last);
    int64_t changed = 0;
    for (size_t i = 0; i < labels.size(); ++i) changed += labels[i] != first_labels[i] ? 1 : 0;
    return static_cast<double>(changed) / static_cast<double>(labels.size());
  }

  RoundEvent last;
  std::vector<int64_t> first_labels;
  std::vector<int64_t> confident;  // pictures, round 0 first
  double seconds = 0;
  PhaseSeconds phases;

 private:
  static std::vector<int64_t> labels_of(const RoundEvent& event) {
    const Tensor labels = event.probabilities.argmax(-1).cpu();
    return {labels.data_ptr<int64_t>(), labels.data_ptr<int64_t>() + labels.numel()};
  }
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
    table_.text("", "target", &target_,
                "unlabelled pictures: a folder, a list file, NAME-images.idx or digits in a .mat file");
    table_.text("", "run", &run_, "folder for the run; runs/DOMAIN, after the target, if not given").transient();
    table_.text("", "test", &test_,
                "labelled pictures of the target, only to show the accuracy after every round; no method sees them");
    table_.text("", "oracle_labels", &oracle_,
                "labelled pictures equal to the target's: runs the selective oracle, which trains on what is labelled "
                "right; not for use, but to see the ceiling");
    table_.text("adapt", "method", &method_, "how to adapt: " + method_names());
    table_.integer("adapt", "epochs", &epochs_, 0, 100000,
                   "passes over the target set, of a method other than selective; 0 takes its own");
    tributary::declare(table_, options_);
    for (const MethodEntry& entry : compared_) entry.declare(table_);
    tributary::declare(table_, watching_);
    tributary::declare(table_, keeping_);
    data_.declare(table_);
    tributary::declare(table_, import_);
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    catch_interrupts();
    common_.read_config(table_);
    settle(table_, options_);
    const std::unique_ptr<Method> method = make_method();
    if (sources_.empty()) input_error("name the source models, each with --source FILE");
    if (target_.empty()) input_error("name the unlabelled pictures with --target");
    if (run_.empty()) run_ = "runs/" + domain_of(target_);
    const torch::Device device = common_.prepare();
    RunFolder folder(run_, table_.to_toml(), keeping_.restart);
    if (folder.finished()) {
      std::cerr << fmt::format("tributary adapt: {} is already finished; say --restart to run again\n", run_);
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
    std::optional<LabelledImages> test;
    if (!test_.empty()) test = load_labelled(test_, load_options, ensemble.classes());
    if (target.size() < 2)
      input_error("{} has {} picture{}; adaptation needs at least 2", target_, target.size(),
                  target.size() == 1 ? "" : "s");

    folder.take();
    ensemble.to(device);
    Progress progress(std::cerr, is_terminal(), common_.json);
    ProgressObserver shown(progress);
    MetricsObserver metrics(folder);
    LastRound last;
    LabelFreePick pick;
    std::optional<AccuracyObserver> accuracy;
    std::vector<Observer*> listeners = {&shown, &metrics, &last, &pick};
    if (test) listeners.push_back(&accuracy.emplace(*test, device));
    RunWatch watch(folder, watching_, accuracy ? &*accuracy : nullptr, listeners);
    Observers observers(listeners);
    SnapshotFolder snapshots(folder.file("checkpoint"), keeping_);
    snapshots.clean();
    folder.begin(go_on(snapshots, target, observers));
    if (oracle)
      adapt_with_oracle(ensemble, target, oracle->labels, options_, observers, snapshots);
    else
      method->adapt(ensemble, target, observers, snapshots);
    progress.finish();

    save_ensemble(folder.file("model.safetensors"), ensemble);
    write_file_atomically(
        folder.file("predictions.csv"),
        predictions_text(target, bad, ensemble, last.last.probabilities, last.last.logits, PredictionFormat::kCsv));
    nlohmann::json summary = summary_of(last, bad);
    if (accuracy) summary["accuracy"] = accuracies(*accuracy, pick.round());
    folder.add_summary(summary);
    ReportSubject subject{run_, &target};
    if (test && test_ == target_) {
      subject.truth = test->labels;
      subject.truth_name = test_;
    }
    watching_.report.threads = static_cast<int>(common_.threads);
    watch.finish(subject);
    folder.finish();
    snapshots.remove();
    show(folder.summary());
  }

 private:
  std::string method_names() const {
    std::string names = "selective";
    for (const MethodEntry& entry : compared_) names += ", " + entry.name;
    return names;
  }

  std::unique_ptr<Method> make_method() const {
    if (method_ == "selective") return std::make_unique<SelectiveSelfTraining>(options_);
    for (const MethodEntry& entry : compared_) {
      if (entry.name != method_) continue;
      if (!oracle_.empty()) input_error("--oracle-labels belongs to --method selective; {} has no oracle", method_);
      BaselineOptions common;
      common.seed = static_cast<uint64_t>(options_.seed);
      common.benchmark = options_.benchmark;
      common.epochs = epochs_;
      if (table_.given("batch")) common.batch = options_.batch;
      common.rate_backbone = options_.rate_backbone;
      if (table_.given("rate_bottleneck")) common.rate_bottleneck = options_.rate_bottleneck;
      common.augmentation = options_.augmentation;
      common.precision = options_.precision;
      common.record = options_.record;
      return entry.make(common);
    }
    input_error("--method {}: choose one of {}", printable(method_), method_names());
  }

  // Makes the observers know again what they knew when an interrupted run was kept, and every coming snapshot what they
  // know. Returns the round in which the run goes on, 0 where it begins.
  static int64_t go_on(SnapshotFolder& snapshots, const ImageSet& target, Observers& observers) {
    const int64_t pictures = target.size();
    snapshots.complete_with([&observers, pictures](Snapshot& snapshot) {
      snapshot.facts["target_pictures"] = pictures;
      observers.save(snapshot.facts["observers"]);
    });
    const Snapshot* const left_off = snapshots.found();
    if (!left_off) return 0;
    if (left_off->integer("target_pictures") != pictures)
      input_error("the run was interrupted with {} pictures, and now there are {}; start over with --restart",
                  thousands(left_off->integer("target_pictures")), thousands(pictures));
    observers.restore(left_off->facts.at("observers"));
    const int64_t round = left_off->integer("round");
    std::cerr << fmt::format("tributary adapt: goes on in round {}\n", round);
    return round;
  }

  static nlohmann::json accuracies(const AccuracyObserver& accuracy, int64_t picked) {
    nlohmann::json rounds = nlohmann::json::array();
    for (const double share : accuracy.rounds()) rounds.push_back(100 * share);
    return {{"last", 100 * accuracy.last()},
            {"label_free", {{"round", picked}, {"accuracy", rounds[static_cast<size_t>(picked)]}}},
            {"best_with_labels", 100 * accuracy.oracle_best()},
            {"rounds", rounds}};
  }

  nlohmann::json summary_of(const LastRound& last, const std::vector<SetAside>& bad) const {
    nlohmann::json sources = nlohmann::json::array();
    const Tensor share =
        last.last.weights.defined()
            ? normalised_weights(last.last.weights).cpu()
            : torch::full({last.last.ensemble->size()}, 1.0 / static_cast<double>(last.last.ensemble->size()));
    for (int64_t j = 0; j < last.last.ensemble->size(); ++j)
      sources.push_back({{"name", last.last.ensemble->sources[j].info().name},
                         {"file", sources_[j]},
                         {"weight", share[j].item<double>()}});
    return {{"run", run_},
            {"method", oracle_.empty() ? method_ : "selective-oracle"},
            {"pictures", last.last.probabilities.size(0)},
            {"set_aside", bad.size()},
            {"rounds", last.last.rounds},
            {"initial_confident", last.last.initial_confident},
            {"confident", last.confident.empty() ? 0 : last.confident.back()},
            {"confident_rounds", last.confident},
            {"sources", sources},
            {"changed_share", last.changed_share()},
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
    std::cout << run_summary_text(summary);
    if (watching_.page) std::cout << fmt::format("report       {}/report.html\n", run_);
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  SelectiveOptions options_;
  WatchOptions watching_;
  SnapshotOptions keeping_;
  std::vector<MethodEntry> compared_ = compared_methods();
  std::string method_ = "selective";
  int64_t epochs_ = 0;
  std::vector<std::string> sources_;
  std::string target_, run_, oracle_, test_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_adapt() {
  return std::make_unique<Adapt>();
}

}  // namespace tributary::cli
