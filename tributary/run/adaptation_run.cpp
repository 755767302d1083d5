#include "tributary/run/adaptation_run.h"

#include <fmt/format.h>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/predictions.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

nlohmann::json accuracies(const AccuracyObserver& accuracy, int64_t picked) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const double share : accuracy.rounds()) rounds.push_back(100 * share);
  return {{"last", 100 * accuracy.last()},
          {"label_free", {{"round", picked}, {"accuracy", rounds[static_cast<size_t>(picked)]}}},
          {"best_with_labels", 100 * accuracy.oracle_best()},
          {"rounds", rounds}};
}

}  // namespace

// Remembers the state of the other observers after every round that all of them have seen. If a run is interrupted
// while observers handle a round, all of them see that round again after the resume.
class AdaptationRun::ObserverState : public Observer {
 public:
  explicit ObserverState(const Observers& observers) : observers_(observers) {}
  void on_round(const RoundEvent&) override {
    state = nlohmann::json::object();
    observers_.save(state);
  }
  void restore(const nlohmann::json& saved) override { state = saved; }
  nlohmann::json state;

 private:
  const Observers& observers_;
};

AdaptationRun::AdaptationRun(AdaptationRunOptions options, Configuration config, DistributedSession& session,
                             RunListener& listener)
    : options_(std::move(options)), config_(std::move(config)), session_(session), listener_(listener) {
  TRIBUTARY_CHECK(options_.oracle_labels.empty() || options_.method.oracle, "{} has no oracle", options_.method.name);
}

std::optional<AdaptationRunResult> AdaptationRun::run() {
  std::optional<RunFolder> folder;
  if (session_.first()) folder.emplace(options_.folder, config_, options_.checkpoints.restart);
  if (session_.agreed(folder && folder->finished())) {
    if (!folder) return std::nullopt;
    return AdaptationRunResult{folder->summary(), /*already_finished=*/true};
  }
  Ensemble sources = load_unadapted();
  load_data(sources);
  session_.require_equal(data_.target.size(), options_.target);
  if (!folder) {
    follow(std::move(sources));
    return std::nullopt;
  }
  folder->lock();
  if (session_.comm()) {
    attempt(*folder, std::move(sources), /*micro_batch=*/0);
  } else {
    // A failed attempt has changed the sources, so the next one loads them again.
    retry_with_micro_batches(
        options_.batch, options_.device,
        [&](int64_t micro_batch) {
          attempt(*folder, micro_batch == 0 ? std::move(sources) : load_unadapted(), micro_batch);
        },
        [&](int64_t micro_batch) { listener_.on_memory_retry(micro_batch); });
  }
  return AdaptationRunResult{folder->summary()};
}

Ensemble AdaptationRun::load_unadapted() const {
  return load_sources(options_.sources, options_.import);
}

LabelledImages AdaptationRun::load_labels(const std::string& path, const LoadOptions& options,
                                          const Ensemble& sources) const {
  std::vector<SkippedPicture> skipped;
  LabelledImages images = load_labelled(path, options, sources.classes(), &skipped);
  if (session_.first()) listener_.on_skipped(skipped, images.images.size() + static_cast<int64_t>(skipped.size()));
  return images;
}

void AdaptationRun::load_data(const Ensemble& sources) {
  LoadOptions load = options_.load;
  load.preprocessing = sources.preprocessing();
  data_.target = load_images(options_.target, load, &data_.skipped);
  const int64_t pictures = data_.target.size();
  if (session_.first()) listener_.on_skipped(data_.skipped, pictures + static_cast<int64_t>(data_.skipped.size()));
  if (!options_.oracle_labels.empty()) {
    const LabelledImages oracle = load_labels(options_.oracle_labels, load, sources);
    if (oracle.images.size() != pictures)
      input_error("{} has {} labels for {} pictures of {}; the oracle needs one for each", options_.oracle_labels,
                  thousands(oracle.images.size()), thousands(pictures), options_.target);
    data_.oracle = oracle.labels;
  }
  if (!options_.test.empty()) data_.test = load_labels(options_.test, load, sources);
  if (pictures < 2)
    input_error("{} has {} picture{}; adaptation needs at least 2", options_.target, pictures,
                pictures == 1 ? "" : "s");
}

std::unique_ptr<Method> AdaptationRun::make_method() const {
  return data_.oracle ? options_.method.oracle->make(options_.method_options, *data_.oracle)
                      : options_.method.make(options_.method_options);
}

void AdaptationRun::follow(Ensemble ensemble) {
  const std::unique_ptr<Method> method = make_method();
  ensemble.to(options_.device);
  session_.shard(ensemble, method->division());
  std::optional<AccuracyObserver> accuracy;
  std::vector<Observer*> listeners;
  if (data_.test) listeners.push_back(&accuracy.emplace(*data_.test, options_.device));
  Observers observers(listeners);
  method->adapt(ensemble, data_.target, observers, session_.checkpointer(nullptr, options_.checkpoints));
}

void AdaptationRun::attempt(RunFolder& folder, Ensemble ensemble, int64_t micro_batch) {
  const std::unique_ptr<Method> method = make_method();
  if (micro_batch > 0 && !method->supports_micro_batches())
    throw MemoryError(fmt::format("out of GPU memory, and {} does not support micro-batches; use a smaller --batch",
                                  options_.method.name));
  for (SourceModel& source : ensemble.sources) set_micro_batch(source, micro_batch);
  ensemble.to(options_.device);
  session_.shard(ensemble, method->division());

  const std::unique_ptr<Observer> shown = listener_.make_observer();
  MetricsObserver metrics(folder, options_.device);
  RunRecord record;
  LabelFreePick pick;
  std::optional<AccuracyObserver> accuracy;
  std::vector<Observer*> listeners;
  if (shown) listeners.push_back(shown.get());
  listeners.insert(listeners.end(), {&metrics, &record, &pick});
  if (data_.test) listeners.push_back(&accuracy.emplace(*data_.test, options_.device));
  RunOutputs outputs(folder, options_.outputs, accuracy ? &*accuracy : nullptr, listeners);
  Observers observers(listeners);
  ObserverState state(observers);
  Observers all({&observers, &state});

  CheckpointFolder checkpointer(folder.file("checkpoint"),
                                {options_.checkpoints.every, options_.checkpoints.restart && micro_batch == 0});
  checkpointer.clean();
  folder.start(resume(checkpointer, all, state));
  method->adapt(ensemble, data_.target, all, session_.checkpointer(&checkpointer, options_.checkpoints));
  listener_.on_trained();

  save_ensemble(folder.file("model.safetensors"), ensemble);
  write_file_atomically(folder.file("predictions.csv"),
                        predictions_text(data_.target, data_.skipped, ensemble, record.last().probabilities,
                                         record.last().logits, PredictionFormat::kCsv));
  nlohmann::json summary = summary_of(record);
  if (micro_batch > 0) summary["pictures_at_once"] = micro_batch;
  if (const int64_t peak = peak_process_memory(options_.device); peak > 0) summary["gpu_peak_bytes"] = peak;
  if (accuracy) summary["accuracy"] = accuracies(*accuracy, pick.round());
  if (const auto signs = record.signs_of_collapse(); !signs.empty()) {
    Ensemble unadapted = load_unadapted();
    unadapted.mixture = record.first_mixture();
    save_ensemble(folder.file("unadapted.safetensors"), unadapted);
    summary["collapse"] = {{"signs", signs}, {"unadapted_model", options_.folder + "/unadapted.safetensors"}};
  }
  folder.add_summary(summary);
  ReportSubject subject{options_.folder, &data_.target};
  if (data_.test && options_.test == options_.target) {
    subject.truth = data_.test->labels;
    subject.truth_name = options_.test;
  }
  outputs.finish(subject);
  folder.finish();
  checkpointer.remove();
}

// Restores the observers from the latest checkpoint and adds their state to every new one. Returns the round in which
// the run resumes, 0 if it starts.
int64_t AdaptationRun::resume(CheckpointFolder& checkpointer, Observers& observers, const ObserverState& state) const {
  const int64_t pictures = data_.target.size();
  checkpointer.on_save([&state, pictures](Checkpoint& checkpoint) {
    checkpoint.facts["target_pictures"] = pictures;
    checkpoint.facts["observers"] = state.state;
  });
  const Checkpoint* const latest = checkpointer.resume_point();
  if (!latest) return 0;
  if (latest->integer("target_pictures") != pictures)
    input_error("the run was interrupted with {} pictures, and now there are {}; start over with --restart",
                thousands(latest->integer("target_pictures")), thousands(pictures));
  observers.restore(latest->facts.at("observers"));
  const int64_t round = latest->integer("round");
  listener_.on_resume(round);
  return round;
}

nlohmann::json AdaptationRun::summary_of(const RunRecord& record) const {
  const std::string& run = options_.folder;
  nlohmann::json summary = {
      {"run", run},
      {"method", options_.oracle_labels.empty() ? options_.method.name : options_.method.oracle->name},
      {"set_aside", data_.skipped.size()},
      {"model", run + "/model.safetensors"},
      {"predictions", run + "/predictions.csv"}};
  record.add_to(summary);
  for (size_t j = 0; j < options_.sources.size(); ++j) summary["sources"][j]["file"] = options_.sources[j];
  for (const SkippedPicture& picture : data_.skipped)
    summary["set_aside_pictures"].push_back({{"picture", picture.path}, {"reason", picture.reason}});
  return summary;
}

}  // namespace tributary
