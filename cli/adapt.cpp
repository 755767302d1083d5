#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/distributed_session.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/artefacts/run_summary.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/methods/method_choice.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/observers.h"
#include "tributary/run/predictions.h"
#include "tributary/run/run_outputs.h"
#include "tributary/run/run_record.h"
#include "tributary/train/memory_retry.h"

namespace tributary::cli {
namespace {

// What an adaptation works with, beside the sources.
struct Given {
  ImageSet target;
  std::vector<SkippedPicture> bad;  // pictures of it that cannot be read
  std::optional<Labels> oracle;
  std::optional<LabelledImages> test;
};

// Keeps what observers knew when all of them had heard of a round. One that is interrupted while it hears of the next
// hears of that again when the run goes on, and so do those that had heard of it already.
class Heard : public Observer {
 public:
  explicit Heard(const Observers& observers) : observers_(observers) {}
  void on_round(const RoundEvent&) override {
    state = nlohmann::json::object();
    observers_.save(state);
  }
  void restore(const nlohmann::json& known) override { state = known; }
  nlohmann::json state;

 private:
  const Observers& observers_;
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
    table_
        .texts(
            "", "source", &sources_,
            "source model: a model file, PyTorch weights, or a folder with source_F.pt, source_B.pt and source_C.pt; "
            "repeat it for every source")
        .metavar("FILE");
    table_
        .text("", "target", &target_,
              "unlabelled pictures: a folder, a list file, tar shards, NAME-images.idx or digits in a .mat file")
        .metavar("DATA");
    table_.text("", "run", &run_, "folder of the run; by default runs/DOMAIN, named after the target")
        .metavar("FOLDER")
        .transient();
    table_
        .text("", "test", &test_, "labelled pictures of the target domain, only to show the accuracy after every round")
        .metavar("DATA");
    table_
        .text("", "oracle_labels", &oracle_,
              "labels of the target pictures, for the oracle: it trains on the samples whose pseudo-label is right")
        .metavar("DATA");
    choice_.declare(table_);
    tributary::declare(table_, output_options_);
    tributary::declare(table_, checkpoint_options_);
    session_.declare(table_);
    data_.declare(table_);
    tributary::declare(table_, import_);
    table_.help_group("Input and output",
                      {"source", "target", "run", "test", "oracle_labels", "root", "config", "json"});
    table_.help_group("Method", {"method", "variant", "benchmark", "ablations"});
    table_.help_group("Training",
                      {"rounds", "inner_epochs", "epochs", "batch", "rate_backbone", "rate_bottleneck", "seed"});
    table_.help_group("Report", {"report", "live", "tensorboard"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "precision", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.read_config(table_);
    choice_.resolve();  // first, so that mistakes in the options are reported before anything is read
    if (!oracle_.empty()) choice_.oracle();
    if (sources_.empty()) input_error("name the source models, each with --source FILE");
    if (target_.empty()) input_error("name the unlabelled pictures with --target");
    if (run_.empty()) run_ = "runs/" + domain_of(target_);
    session_.begin();
    const torch::Device device = common_.prepare(session_);
    session_.join(device);
    std::optional<RunFolder> folder;  // the first rank's
    if (session_.first())
      folder.emplace(run_, config_text(table_, common_.threads, session_), checkpoint_options_.restart);
    if (session_.agreed(folder && folder->finished())) {
      if (!folder) return;
      std::cerr << fmt::format("tributary adapt: {} is already finished; run it again with --restart\n", run_);
      show(folder->summary());
      return;
    }
    const Given given = load(load_sources(sources_, import_));
    session_.require_equal(given.target.size(), target_);
    if (!folder) {
      work_along(given, device);
      return;
    }
    folder->take();
    if (session_.comm())
      attempt(*folder, given, device, /*piece=*/0);
    else
      retry_with_micro_batches(
          choice_.batch(), device, [&](int64_t micro_batch) { attempt(*folder, given, device, micro_batch); },
          [&](int64_t micro_batch) { report_memory_retry(name(), micro_batch); });
    show(folder->summary());
  }

 private:
  // Loads and checks everything before the first file is written.
  Given load(const Ensemble& sources) const {
    const LoadOptions options = data_.for_preprocessing(sources.preprocessing(), common_.threads);
    const auto labelled = [&](const std::string& path) {
      std::vector<SkippedPicture> bad;
      LabelledImages images = load_labelled(path, options, sources.classes(), &bad);
      if (session_.first()) report_skipped(name(), bad, images.images.size() + static_cast<int64_t>(bad.size()));
      return images;
    };
    Given given;
    given.target = load_images(target_, options, &given.bad);
    const int64_t pictures = given.target.size();
    if (session_.first()) report_skipped(name(), given.bad, pictures + static_cast<int64_t>(given.bad.size()));
    if (!oracle_.empty()) {
      const LabelledImages oracle = labelled(oracle_);
      if (oracle.images.size() != pictures)
        input_error("{} has {} labels for {} pictures of {}; the oracle needs one for each", oracle_,
                    thousands(oracle.images.size()), thousands(pictures), target_);
      given.oracle = oracle.labels;
    }
    if (!test_.empty()) given.test = labelled(test_);
    if (pictures < 2)
      input_error("{} has {} picture{}; adaptation needs at least 2", target_, pictures, pictures == 1 ? "" : "s");
    return given;
  }

  // What every rank does but the first, which has the run's folder.
  void work_along(const Given& given, torch::Device device) {
    const std::unique_ptr<Method> method = given.oracle ? choice_.make_oracle(*given.oracle) : choice_.make();
    Ensemble ensemble = load_sources(sources_, import_);
    ensemble.to(device);
    session_.shard(ensemble, method->division());
    std::optional<AccuracyObserver> accuracy;
    std::vector<Observer*> listeners;
    if (given.test) listeners.push_back(&accuracy.emplace(*given.test, device));
    Observers observers(listeners);
    method->adapt(ensemble, given.target, observers, session_.checkpointer(nullptr, checkpoint_options_));
  }

  // Adapts from where an interrupted run left off, or from the beginning, and writes what comes of it. Backbones take
  // at most `micro_batch` pictures at once; 0: whole batches.
  void attempt(RunFolder& folder, const Given& given, torch::Device device, int64_t micro_batch) {
    const std::unique_ptr<Method> method = given.oracle ? choice_.make_oracle(*given.oracle) : choice_.make();
    if (micro_batch > 0 && !method->supports_micro_batches())
      throw MemoryError(fmt::format(
          "the GPU's memory is used up, and {} cannot split its batches; take a smaller --batch", choice_.name()));
    Ensemble ensemble = load_sources(sources_, import_);
    for (SourceModel& source : ensemble.sources) set_micro_batch(source, micro_batch);
    ensemble.to(device);
    session_.shard(ensemble, method->division());
    Progress progress(std::cerr, is_terminal(), common_.json);
    ProgressObserver shown(progress);
    MetricsObserver metrics(folder);
    RunRecord record;
    LabelFreePick pick;
    std::optional<AccuracyObserver> accuracy;
    std::vector<Observer*> listeners = {&shown, &metrics, &record, &pick};
    if (given.test) listeners.push_back(&accuracy.emplace(*given.test, device));
    RunOutputs watch(folder, output_options_, accuracy ? &*accuracy : nullptr, listeners);
    Observers observers(listeners);
    Heard heard(observers);
    Observers all({&observers, &heard});
    CheckpointFolder checkpointer(folder.file("checkpoint"),
                                  {checkpoint_options_.every, checkpoint_options_.restart && micro_batch == 0});
    checkpointer.clean();
    folder.begin(go_on(checkpointer, given.target, all, heard));
    method->adapt(ensemble, given.target, all, session_.checkpointer(&checkpointer, checkpoint_options_));
    progress.finish();

    save_ensemble(folder.file("model.safetensors"), ensemble);
    write_file_atomically(folder.file("predictions.csv"),
                          predictions_text(given.target, given.bad, ensemble, record.last().probabilities,
                                           record.last().logits, PredictionFormat::kCsv));
    nlohmann::json summary = summary_of(record, given.bad);
    if (micro_batch > 0) summary["pictures_at_once"] = micro_batch;
    if (accuracy) summary["accuracy"] = accuracies(*accuracy, pick.round());
    if (const auto signs = record.signs_of_collapse(); !signs.empty()) {
      Ensemble unadapted = load_sources(sources_, import_);
      unadapted.mixture = record.first_mixture();
      save_ensemble(folder.file("unadapted.safetensors"), unadapted);
      summary["collapse"] = {{"signs", signs}, {"unadapted_model", run_ + "/unadapted.safetensors"}};
    }
    folder.add_summary(summary);
    ReportSubject subject{run_, &given.target};
    if (given.test && test_ == target_) {
      subject.truth = given.test->labels;
      subject.truth_name = test_;
    }
    output_options_.report.threads = static_cast<int>(common_.threads);
    watch.finish(subject);
    folder.finish();
    checkpointer.remove();
  }

  // Makes the observers know again what they knew when an interrupted run was kept, and every coming snapshot what they
  // know. Returns the round in which the run goes on, 0 where it begins.
  static int64_t go_on(CheckpointFolder& checkpointer, const ImageSet& target, Observers& all, const Heard& heard) {
    const int64_t pictures = target.size();
    checkpointer.on_save([&heard, pictures](Checkpoint& checkpoint) {
      checkpoint.facts["target_pictures"] = pictures;
      checkpoint.facts["observers"] = heard.state;
    });
    const Checkpoint* const resume_from = checkpointer.resume_point();
    if (!resume_from) return 0;
    if (resume_from->integer("target_pictures") != pictures)
      input_error("the run was interrupted with {} pictures, and now there are {}; start over with --restart",
                  thousands(resume_from->integer("target_pictures")), thousands(pictures));
    all.restore(resume_from->facts.at("observers"));
    const int64_t round = resume_from->integer("round");
    std::cerr << fmt::format("tributary adapt: resuming in round {}\n", round);
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

  nlohmann::json summary_of(const RunRecord& record, const std::vector<SkippedPicture>& bad) const {
    nlohmann::json summary = {{"run", run_},
                              {"method", oracle_.empty() ? choice_.name() : choice_.oracle().name},
                              {"set_aside", bad.size()},
                              {"model", run_ + "/model.safetensors"},
                              {"predictions", run_ + "/predictions.csv"}};
    record.add_to(summary);
    for (size_t j = 0; j < sources_.size(); ++j) summary["sources"][j]["file"] = sources_[j];
    for (const SkippedPicture& picture : bad)
      summary["set_aside_pictures"].push_back({{"picture", picture.path}, {"reason", picture.reason}});
    return summary;
  }

  void show(const nlohmann::json& summary) const {
    if (common_.json) {
      std::cout << summary.dump(2) << '\n';
      return;
    }
    std::cout << run_summary_text(summary);
    if (output_options_.page) std::cout << fmt::format("report       {}/report.html\n", run_);
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  MethodChoice choice_;
  RunOutputOptions output_options_;
  CheckpointOptions checkpoint_options_;
  DistributedSession session_;
  std::vector<std::string> sources_;
  std::string target_, run_, oracle_, test_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_adapt() {
  return std::make_unique<Adapt>();
}

}  // namespace tributary::cli
