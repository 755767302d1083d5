#include "tributary/run/adaptation_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <tuple>

#include "tributary/base/crc32c.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/data/match_labels.h"
#include "tributary/data/picture_extent.h"
#include "tributary/device/device.h"
#include "tributary/estimate/temperature.h"
#include "tributary/model_io/model_file.h"
#include "tributary/model_io/source_spec.h"
#include "tributary/run/planned_memory.h"
#include "tributary/run/predictions.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

nlohmann::json accuracies(const AccuracyObserver& accuracy, int64_t picked, const nlohmann::json& kept) {
  nlohmann::json rounds = nlohmann::json::array();
  for (const double share : accuracy.rounds()) rounds.push_back(100 * share);
  const auto of_round = [&rounds](int64_t round) {
    return nlohmann::json{{"round", round}, {"accuracy", rounds[static_cast<size_t>(round)]}};
  };
  nlohmann::json all = {{"last", 100 * accuracy.last()},
                        {"label_free", of_round(picked)},
                        {"best_with_labels", 100 * accuracy.oracle_best()},
                        {"rounds", rounds}};
  if (!kept.is_null()) all["kept"] = of_round(kept.at("round"));
  return all;
}

// What identifies the scores of every fixed source, which a resumed run reads again.
nlohmann::json digests_of(const std::vector<FixedSource>& fixed) {
  nlohmann::json digests = nlohmann::json::array();
  for (const FixedSource& source : fixed) {
    const Tensor logits = source.logits.cpu().contiguous();
    digests.push_back(
        {source.classes, source.outputs, crc32c({static_cast<const char*>(logits.data_ptr()), logits.nbytes()})});
  }
  return digests;
}

// Throws an InputError that names the first fixed source whose digest was another one before.
void require_same_scores(const nlohmann::json& before, const nlohmann::json& now,
                         const std::vector<FixedSource>& fixed) {
  for (size_t j = 0; j < fixed.size(); ++j)
    if (!before.is_array() || j >= before.size() || before[j] != now[j])
      input_error("the scores of {} have changed since the run was interrupted; start over with --restart",
                  fixed[j].scores.path);
  if (before != now) damaged_checkpoint("scores");
}

// The name of a source without which the others do not know all classes, or lack a class in common; empty if there is
// none.
std::string indispensable(const Ensemble& sources) {
  const Tensor known = sources.known();
  for (int64_t j = 0; known.defined() && j < sources.size(); ++j)
    if (!are_linked(at::cat({known.slice(0, 0, j), known.slice(0, j + 1)})))
      return sources.sources[static_cast<size_t>(j)].info().name;
  return {};
}

}  // namespace

// Remembers the state of the other observers after every round that all of them have seen. If a run is interrupted
// while observers handle a round, all of them see that round again after the resume.
class AdaptationRun::ObserverState : public Observer {
 public:
  explicit ObserverState(const Observer& observers) : observers_(observers) {}
  void on_round(const RoundEvent&) override {
    state_ = nlohmann::json::object();
    observers_.save(state_);
    tensors_ = observers_.tensors();
  }
  void restore(const nlohmann::json& saved) override { state_ = saved; }
  void restore_tensors(const NamedTensors&) override { tensors_ = observers_.tensors(); }
  void add_to(Checkpoint& checkpoint) const {
    checkpoint.facts()["observers"] = state_;
    checkpoint.add(kOfFirstRank, tensors_);
  }
  // The tensors that add_to() added.
  static NamedTensors tensors_of(const Checkpoint& checkpoint) {
    NamedTensors own;
    const std::string prefix = kOfFirstRank;
    for (const NamedTensor& tensor : checkpoint.tensors)
      if (tensor.name.starts_with(prefix)) own.push_back({tensor.name.substr(prefix.size()), tensor.value});
    return own;
  }

 private:
  const Observer& observers_;
  nlohmann::json state_;
  NamedTensors tensors_;
};

void declare_keep(OptionTable& table, KeepRule& keep) {
  table.choice("adapt", "keep", &keep,
               {{"auto", KeepRule::kAuto}, {"label-free", KeepRule::kLabelFree}, {"last", KeepRule::kLast}},
               "round to keep: the latest not rejected, or the last");
}

AdaptationRun::AdaptationRun(AdaptationRunOptions options, Configuration config, DistributedSession& session,
                             RunListener& listener)
    : options_(std::move(options)), config_(std::move(config)), session_(session), listener_(listener) {
  // The members of an ensemble are in this order.
  std::stable_partition(options_.sources.begin(), options_.sources.end(), [this](const std::string& source) {
    return !is_score_file(parse_source(source, options_.import).path);
  });
  TRIBUTARY_CHECK(options_.oracle_labels.empty() || options_.method.oracle, "{} has no oracle", options_.method.name);
}

std::optional<AdaptationRunResult> AdaptationRun::run() {
  if (options_.recompute != Recompute::kNone && !make_method()->supports_recomputation())
    input_error("--method {} cannot recompute activations; leave out --recompute", options_.method.name);
  std::optional<RunFolder> folder;
  if (session_.first()) folder.emplace(options_.folder, config_, options_.checkpoints.restart);
  const auto finished = [&] { return session_.agreed(folder && folder->finished()); };
  const auto earlier_result = [&] {
    return folder ? std::optional(AdaptationRunResult{folder->summary(), /*already_finished=*/true}) : std::nullopt;
  };
  if (finished()) return earlier_result();
  std::vector<std::string> notices;
  Ensemble sources = load_unadapted(&notices);
  require_scores_usable(sources);
  require_class_sets(sources);
  require_trainable(sources);
  require_small_pictures(sources);
  if (session_.first())
    for (const std::string& notice : notices) listener_.on_warning(notice);
  load_data(sources);
  session_.require_equal(data_.target.size(), options_.target);
  match_scores(sources);
  if (folder) folder->lock();
  if (finished()) return earlier_result();  // by an equal command that held the lock
  if (options_.estimate.kind == EstimateKind::kFull) {
    if (folder) folder->claim();
    leave_sources_out(sources);
  }
  if (!folder) {
    follow(std::move(sources));
    return std::nullopt;
  }
  if (session_.comm()) {
    attempt(*folder, std::move(sources), PassMemory{options_.recompute}, /*first=*/true);
  } else {
    const PassMemory planned = planned_memory(sources);
    // A failed attempt has changed the sources, so the next one loads them again.
    bool first = true;
    retry_with_less_memory(
        planned, options_.batch, options_.device,
        [&](const PassMemory& memory) {
          if (!first) {
            sources = load_unadapted();
            match_scores(sources);
          }
          attempt(*folder, std::move(sources), memory, std::exchange(first, false));
        },
        [&](const PassMemory& memory) { listener_.on_memory_retry(memory); });
  }
  return AdaptationRunResult{folder->summary()};
}

void AdaptationRun::require_class_sets(const Ensemble& sources) const {
  const auto partly = partly_known(sources);
  if (options_.method.mixes_class_sets || partly.empty()) return;
  const auto& [name, knowing] = *partly.begin();
  std::vector<std::string> able;
  for (const MethodEntry& entry : registered_methods())
    if (entry.mixes_class_sets) able.push_back(entry.name);
  input_error("--method {} needs sources that know the same classes, but only {} of {} know{} '{}'; choose --method {}",
              options_.method.name, knowing.size(), sources.size(), knowing.size() == 1 ? "s" : "", printable(name),
              fmt::join(able, " or "));
}

void AdaptationRun::require_trainable(const Ensemble& sources) const {
  if (options_.method.length_options.empty()) return;  // it does not train
  for (const SourceModel& source : sources.sources) {
    if (!source.backbone_parameters().empty() || !source.bottleneck_parameters().empty()) continue;
    std::vector<std::string> able;
    for (const MethodEntry& entry : registered_methods())
      if (entry.length_options.empty()) able.push_back(entry.name);
    input_error(
        "{} has no parameter before its classifier that requires a gradient, so nothing of it can be adapted; save it "
        "with requires_grad set, or choose --method {}",
        source.info().name, fmt::join(able, " or "));
  }
}

void AdaptationRun::require_scores_usable(const Ensemble& sources) const {
  if (sources.fixed.empty()) return;
  const std::string& file = sources.fixed.front().scores.path;
  if (!options_.method.excludes_scores)
    input_error("--method {} needs models, but of {} there are only scores; choose --method selective",
                options_.method.name, file);
  if (const std::string flag = options_.method.excludes_scores(); !flag.empty())
    input_error("{} needs models, but of {} there are only scores; leave it out", flag, file);
  if (options_.estimate.kind == EstimateKind::kFull)
    input_error("--estimate full adapts without each source, but of {} there are only scores; choose --estimate quick",
                file);
}

void AdaptationRun::require_small_pictures(const Ensemble& sources) const {
  constexpr int64_t kSmall = 64;
  const bool chosen = !options_.student.init.empty() || !options_.student.network.empty();
  if (!sources.has_student || sources.size() > 1 || chosen) return;
  const PictureArray& array = options_.target_array;
  const PictureExtent extent =
      array.is_given() ? PictureExtent{array.width, array.height} : typical_extent(options_.target, options_.load);
  if (extent.longer() <= kSmall) return;
  input_error(
      "{} has pictures of {}x{}, and a student with random weights learns pictures of up to {}x{}; give it ImageNet "
      "weights with --init FILE",
      options_.target, extent.width, extent.height, kSmall, kSmall);
}

void AdaptationRun::match_scores(Ensemble& sources) {
  for (FixedSource& source : sources.fixed) source.match_pictures(data_.target.names, options_.target);
  if (session_.first()) score_digests_ = digests_of(sources.fixed);
}

void AdaptationRun::leave_sources_out(const Ensemble& sources) {
  constexpr size_t kLeastSources = 3;
  if (options_.sources.size() < kLeastSources || make_method()->supported_sharding() != SupportedSharding::kEither)
    return;  // sources that are adapted one by one leave each other out anyway
  if (options_.estimate.adapted_sources) return;
  if (const std::string needed = indispensable(sources); !needed.empty()) {
    if (session_.first())
      listener_.on_warning(fmt::format(
          "estimate: without {} the others lack a class, or have none in common; no source is left out", needed));
    return;
  }
  std::vector<Tensor> labels;
  for (size_t j = 0; j < options_.sources.size(); ++j) {
    AdaptationRunOptions rest = options_;
    const std::string name = fmt::format("without-{}", j + 1);
    rest.sources.erase(rest.sources.begin() + static_cast<std::ptrdiff_t>(j));
    rest.folder = options_.folder + "/estimate/" + name;
    rest.test.clear();
    rest.test_array = {};
    rest.oracle_labels.clear();
    rest.outputs.history = rest.outputs.page = rest.outputs.tensorboard = false;
    rest.estimate.kind = EstimateKind::kQuick;
    Configuration config = config_;
    config.text = fmt::format("left_out = \"{}\"\n{}", name, config_.text);
    if (session_.first())
      listener_.on_warning(fmt::format("estimate: adapting without {} ({} of {})", sources.sources[j].info().name,
                                       j + 1, options_.sources.size()));
    AdaptationRun(rest, config, session_, listener_).run();
    if (session_.first()) labels.push_back(predicted_classes(rest.folder + "/predictions.csv", sources.classes()));
  }
  if (!session_.first()) return;
  for (const Tensor& own : labels)
    if (own.size(0) != data_.target.size())
      input_error("{}/estimate has {} predictions for {} pictures; start over with --restart", options_.folder,
                  thousands(own.size(0)), thousands(data_.target.size()));
  left_out_ = at::stack(labels);
}

ResultRows AdaptationRun::outputs_of(const RunFolder& folder, const KeptRound& kept, const SharedRounds& rounds,
                                     Ensemble& ensemble) const {
  const auto& [rows, logits, probabilities] = rounds.last();
  if (rows.divided()) return shared_outputs(rounds, ensemble, kept.is_last());
  if (kept.is_last()) return {ensemble, logits, probabilities, rows};
  // An earlier round: read from its file, because the ensemble may be shared with ranks that wait for no evaluation.
  ImportOptions trusting;
  trusting.trust = true;
  Ensemble saved = load_ensemble(folder.file("model.safetensors"), trusting);
  saved.to(options_.device);
  if (saved.mixture.weights.defined()) saved.mixture.weights = saved.mixture.weights.to(options_.device);
  saved.fixed = ensemble.fixed;
  const auto [of_members, mixed] = predicted_by(saved, {});
  return {ensemble, of_members, mixed, rows};
}

ResultRows AdaptationRun::shared_outputs(const SharedRounds& rounds, Ensemble& ensemble, bool is_last) const {
  const auto& [rows, logits, probabilities] = rounds.last();
  if (session_.agreed(is_last)) return {ensemble, logits, probabilities, rows};
  share_models(ensemble, *rows.comm());
  const auto [of_members, mixed] = predicted_by(ensemble, rows);
  return {ensemble, of_members, mixed, rows};
}

std::pair<Tensor, Tensor> AdaptationRun::predicted_by(Ensemble& ensemble, const RowBlock& rows) const {
  const DeviceImages images(data_.target, options_.device);
  if (ensemble.fixed.empty()) {
    const Tensor logits = evaluate_logits(ensemble, images, rows);
    return {logits, combine(logits, ensemble.mixture)};
  }
  std::vector<Tensor> own;
  for (const Outputs& outputs : evaluate(ensemble.sources, images, /*mixed_precision=*/false, nullptr, rows))
    own.push_back(outputs.logits);
  return {ensemble.with_fixed(own, rows), combine(ensemble.stacked(own), ensemble.mixture)};
}

std::string AdaptationRun::save_unadapted(const RunFolder& folder, const RunRecord& record,
                                          const ResultEstimate& estimate, const ResultRows& result) const {
  Ensemble unadapted = load_unadapted();
  unadapted.mixture = record.first_mixture();
  record.restore_first_statistics(unadapted);
  if (estimate.before)
    unadapted.mixture.temperature = result.unadapted_temperature(
        estimate.before->accuracy, [&](double accuracy) { return temperature_of(unadapted, accuracy, result.rows()); });
  save_ensemble(folder.file("unadapted.safetensors"), unadapted);
  return options_.folder + "/unadapted.safetensors";
}

double AdaptationRun::temperature_of(Ensemble& unadapted, double accuracy, const RowBlock& rows) const {
  unadapted.to(options_.device);
  if (rows.divided()) {
    unadapted.shard(*rows.comm(), Sharding::By::kRows);
    share_models(unadapted, *rows.comm());
  }
  const Tensor logits = evaluate_logits(unadapted, DeviceImages(data_.target, options_.device), rows);
  return temperature_for_confidence(combine(logits, unadapted.mixture), accuracy, rows);
}

Ensemble AdaptationRun::load_unadapted(std::vector<std::string>* notices) const {
  return load_members(options_.sources, options_.student, options_.import, notices);
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
  data_.target = options_.target_array.is_given() ? load_array(options_.target_array, load)
                                                  : load_images(options_.target, load, &data_.skipped);
  const int64_t pictures = data_.target.size();
  if (session_.first()) listener_.on_skipped(data_.skipped, pictures + static_cast<int64_t>(data_.skipped.size()));
  if (!options_.oracle_labels.empty()) {
    const LabelledImages oracle = load_labels(options_.oracle_labels, load, sources);
    data_.oracle = match_labels({options_.target, data_.target.names, [this] { return &data_.target; }}, oracle,
                                options_.oracle_labels)
                       .labels;
  }
  if (!options_.labels.empty()) load_given(sources);
  if (options_.test_array.is_given())
    data_.test = load_labelled_array(options_.test_array, options_.test_labels, load, sources.classes());
  else if (!options_.test.empty())
    data_.test = load_labels(options_.test, load, sources);
  if (pictures < 2)
    input_error("{} has {} picture{}; adaptation needs at least 2", options_.target, pictures,
                pictures == 1 ? "" : "s");
}

void AdaptationRun::load_given(const Ensemble& sources) {
  const std::vector<LabelRow> rows = read_label_file(options_.labels);
  const auto audit =
      std::find_if(rows.begin(), rows.end(), [](const LabelRow& row) { return row.random_seed.has_value(); });
  if (audit != rows.end())
    input_error(
        "{} is an audit sample, which measures accuracy only if it is not trained on; give it to tributary evaluate "
        "--audit, or label the pictures of tributary suggest --count",
        options_.labels);
  data_.given = match_rows(rows, options_.labels, data_.target.names, sources.classes());
  if (data_.given.picture.empty()) input_error("{} has no label; fill in the column label", options_.labels);
}

void AdaptationRun::save_given(const std::string& path, const std::vector<std::string>& classes) const {
  std::vector<LabelRow> rows;
  for (size_t i = 0; i < data_.given.picture.size(); ++i)
    rows.push_back({data_.target.names[static_cast<size_t>(data_.given.picture[i])],
                    classes[static_cast<size_t>(data_.given.label[i])], std::nullopt, 0});
  write_file_atomically(path, label_file_text(rows));
}

std::unique_ptr<Method> AdaptationRun::make_method() const {
  if (!data_.given.picture.empty()) {
    const Tensor picture = torch::tensor(data_.given.picture, torch::kInt64);
    const Tensor order = picture.argsort();
    return options_.method.make_with_labels(
        options_.method_options,
        {picture.index_select(0, order), torch::tensor(data_.given.label, torch::kInt64).index_select(0, order)});
  }
  return data_.oracle ? options_.method.oracle->make(options_.method_options, *data_.oracle)
                      : options_.method.make(options_.method_options);
}

KeepRule AdaptationRun::keep_rule() const {
  if (options_.keep != KeepRule::kAuto) return options_.keep;
  return options_.method.default_keep ? options_.method.default_keep() : KeepRule::kLast;
}

void AdaptationRun::follow(Ensemble ensemble) {
  const std::unique_ptr<Method> method = make_method();
  for (SourceModel& source : ensemble.sources) set_memory(source, {options_.recompute});
  ensemble.keep_rows(RowBlock(session_.comm(), data_.target.size()));
  ensemble.to(options_.device);
  session_.shard(ensemble, method->supported_sharding());
  std::optional<AccuracyObserver> accuracy;
  RoundScores scores;
  ConfidenceRecord confidence;
  SharedRounds::Listeners listeners{{}, {&scores, &confidence}, {}};
  if (data_.test) listeners.everywhere.push_back(&accuracy.emplace(*data_.test, options_.device));
  SharedRounds rounds(listeners, /*first=*/false, history_options());
  method->adapt(ensemble, data_.target, rounds, session_.checkpointer(nullptr, options_.checkpoints));
  if (!rounds.last().rows.divided()) return;
  const ResultRows result = shared_outputs(rounds, ensemble, /*is_last=*/true);
  result.columns();
  result.serve([&](double wanted) {
    Ensemble unadapted = load_unadapted();
    return temperature_of(unadapted, wanted, result.rows());
  });
}

std::optional<HistoryOptions> AdaptationRun::history_options() const {
  return options_.outputs.history ? std::optional(HistoryOptions()) : std::nullopt;
}

PassMemory AdaptationRun::planned_memory(Ensemble& sources) const {
  const PassMemory least{options_.recompute};
  const std::unique_ptr<Method> method = make_method();
  if (!method->supports_recomputation()) return least;
  sources.to(options_.device);
  return tributary::planned_memory(sources.sources, method->held_passes(), options_.batch, least,
                                   is_mixed(options_.method_options.precision), listener_);
}

void AdaptationRun::attempt(RunFolder& folder, Ensemble ensemble, const PassMemory& memory, bool first) {
  const std::unique_ptr<Method> method = make_method();
  if (memory != PassMemory{} && !method->supports_recomputation())
    throw MemoryError(fmt::format("out of GPU memory, and {} cannot recompute activations; use a smaller --batch",
                                  options_.method.name));
  for (SourceModel& source : ensemble.sources) set_memory(source, memory);
  ensemble.keep_rows(RowBlock(session_.comm(), data_.target.size()));
  ensemble.to(options_.device);
  session_.shard(ensemble, method->supported_sharding());

  KeptRound kept(keep_rule(), options_.estimate.adapted_sources);
  RoundScores scores;
  MetricsObserver metrics(folder, options_.device, &kept, &scores);
  RunRecord record;
  LabelFreePick pick;
  ConfidenceRecord confidence;
  std::optional<AccuracyObserver> accuracy;
  SharedRounds::Listeners listeners{{}, {&scores, &confidence}, {}};
  if (data_.test) listeners.everywhere.push_back(&accuracy.emplace(*data_.test, options_.device));
  const std::unique_ptr<Observer> shown = listener_.make_observer(accuracy ? &*accuracy : nullptr);
  if (shown) listeners.own.push_back(shown.get());
  listeners.own.insert(listeners.own.end(), {&kept, &metrics, &record, &pick});
  RunOutputs outputs(folder, options_.outputs, accuracy ? &*accuracy : nullptr, listeners.own);
  SharedRounds observers(listeners, /*first=*/true, history_options());
  ObserverState state(observers);
  Observers all({&observers, &state});

  CheckpointFolder checkpointer(folder.file("checkpoint"),
                                {options_.checkpoints.every, options_.checkpoints.restart && first,
                                 [this](const std::string& message) { listener_.on_warning(message); }});
  checkpointer.clean();
  const int64_t round = resume(folder, checkpointer, all, state, ensemble);
  if (round > 0) {
    const RunShape shape{data_.target.size(),
                         ensemble.size(),
                         static_cast<int64_t>(ensemble.classes().size()),
                         round,
                         ensemble.members(),
                         ensemble.members() - (ensemble.has_student ? 1 : 0)};
    scores.require_fit(shape);
    record.require_fit(shape, ensemble);
    kept.require_fit(shape, ensemble);
    pick.require_fit(shape);
    confidence.require_fit(shape);
    if (accuracy) accuracy->require_fit(shape);
  }
  folder.start(round);
  method->adapt(ensemble, data_.target, all, session_.checkpointer(&checkpointer, options_.checkpoints));
  listener_.on_trained();

  folder.require_there();
  if (!kept.is_last()) kept.hand_back(ensemble);
  save_ensemble(folder.file("model.safetensors"), ensemble);
  ResultToJudge result;
  result.witnesses = &kept.witnesses();
  result.first_label = kept.first_label();
  result.is_confident = confidence.is_confident();
  result.first_confidence = confidence.confidence();
  const ResultRows rows = outputs_of(folder, kept, observers, ensemble);
  result.rows = &rows;
  result.columns = rows.columns();
  result.known = ensemble.without_student(ensemble.known());
  result.left_out = left_out_;
  result.collapse = kept.signs_of_collapse();
  result.adapted = kept.round() > 0;
  const ResultEstimate estimate = estimate_result(result, options_.estimate);
  if (estimate.temperature != 1) {
    ensemble.mixture.temperature = estimate.temperature;
    save_ensemble(folder.file("model.safetensors"), ensemble);
  }
  write_file_atomically(folder.file("predictions.csv"), predictions_text(data_.target, data_.skipped, ensemble,
                                                                         estimate.predictions, PredictionFormat::kCsv));
  if (!data_.given.picture.empty()) save_given(folder.file("given_labels.csv"), ensemble.classes());
  nlohmann::json summary = summary_of(record);
  if (!kept.is_last()) record.replace_result(summary, kept.result());
  if (const nlohmann::json decision = kept.to_json(); !decision.is_null()) summary["kept"] = decision;
  if (const nlohmann::json stop = kept.stop_json(); !stop.is_null()) summary["stopped"] = stop;
  if (memory.recompute != Recompute::kNone) summary["recompute"] = name_of(memory.recompute);
  if (memory.micro_batch > 0) summary["micro_batch"] = memory.micro_batch;
  if (const int64_t peak = peak_process_memory(options_.device); peak > 0) summary["gpu_peak_bytes"] = peak;
  if (accuracy) summary["accuracy"] = accuracies(*accuracy, pick.round(), kept.to_json());
  const bool target_is_tested = data_.test && options_.test == options_.target;
  add_estimate(summary, estimate, result, options_.estimate, ensemble.classes(),
               target_is_tested ? torch::tensor(data_.test->labels.values, torch::kInt64) : Tensor());
  // One accuracy per source: the student is no witness, so that its own is unknown.
  if (nlohmann::json& own = summary["estimate"]["sources"]; ensemble.has_student && !own.empty())
    own.insert(own.begin() + (ensemble.size() - 1), nullptr);
  // A student that has not been trained is of no use.
  if (result.adapted && estimate.verdict.decision == Decision::kDoNotUse) {
    const std::string unadapted = ensemble.has_student ? std::string() : save_unadapted(folder, record, estimate, rows);
    if (!result.collapse.empty()) summary["collapse"]["signs"] = result.collapse;
    for (const char* key : {"verdict", "collapse"})
      if (!unadapted.empty() && summary.contains(key)) summary[key]["unadapted_model"] = unadapted;
  }
  rows.finish();
  outputs.add_confidence(estimate.predictions.confidence);
  folder.add_summary(summary);
  ReportSubject subject{options_.folder, &data_.target};
  if (target_is_tested) {
    subject.truth = data_.test->labels;
    subject.truth_name = options_.test;
  }
  outputs.finish(subject);
  folder.finish();
  checkpointer.remove();
  remove_folder(folder.file("estimate"));
}

// Restores the observers from the latest checkpoint and adds their state to every new one. Returns the round in which
// the run resumes, 0 if it starts.
int64_t AdaptationRun::resume(const RunFolder& folder, CheckpointFolder& checkpointer, Observers& observers,
                              const ObserverState& state, const Ensemble& ensemble) const {
  const int64_t pictures = data_.target.size();
  const std::string digest = fmt::format("{:016x}", data_.target.digest);
  const nlohmann::json given = {data_.given.picture, data_.given.label};
  const nlohmann::json scores = score_digests_;
  checkpointer.on_save([&state, pictures, digest, given, scores, &folder](Checkpoint& checkpoint) {
    folder.require_there();  // saving would create it again, without its other files
    checkpoint.facts()["target_pictures"] = pictures;
    checkpoint.facts()["target_digest"] = digest;
    checkpoint.facts()["given_labels"] = given;
    checkpoint.facts()["scores"] = scores;
    state.add_to(checkpoint);
  });
  const Checkpoint* const latest = checkpointer.resume_point();
  if (!latest) return 0;
  const bool before_rounds = latest->integer("round", 0) == 0;  // no observer has seen anything
  if (latest->integer("target_pictures") != pictures)
    input_error("the run was interrupted with {} pictures, and now there are {}; start over with --restart",
                thousands(latest->integer("target_pictures")), thousands(pictures));
  if (latest->facts().value("target_digest", nlohmann::json()) != digest)
    input_error(
        "the names or sizes of the pictures of {} have changed since the run was interrupted; start over with "
        "--restart",
        options_.target);
  if (latest->facts().value("given_labels", nlohmann::json()) != given)
    input_error("the labels of {} have changed since the run was interrupted; start over with --restart",
                options_.labels);
  require_same_scores(latest->facts().value("scores", nlohmann::json::array()), scores, ensemble.fixed);
  if (before_rounds) {
    listener_.on_resume(0);
    return 0;
  }
  constexpr int64_t kMostRounds = 1'000'000;
  const int64_t round = latest->integer("round", 1, kMostRounds);
  try {
    observers.restore(latest->facts().at("observers"));
    observers.restore_tensors(ObserverState::tensors_of(*latest));
  } catch (const nlohmann::json::exception& error) {
    damaged_checkpoint(printable(error.what()));
  }
  listener_.on_resume(round);
  return round;
}

nlohmann::json AdaptationRun::summary_of(const RunRecord& record) const {
  const std::string& run = options_.folder;
  nlohmann::json summary = {
      {"run", run},
      {"method", options_.oracle_labels.empty() ? options_.method.name : options_.method.oracle->name},
      {"skipped", data_.skipped.size()},
      {"model", run + "/model.safetensors"},
      {"predictions", run + "/predictions.csv"}};
  if (!data_.given.picture.empty()) summary["given_labels"] = data_.given.picture.size();
  record.add_to(summary);
  size_t next = 0;
  for (nlohmann::json& source : summary["sources"])
    source["file"] = source.contains("student") ? options_.student.init
                                                : parse_source(options_.sources[next++], options_.import).path;
  for (const SkippedPicture& picture : data_.skipped)
    summary["skipped_pictures"].push_back({{"picture", picture.path}, {"reason", picture.reason}});
  return summary;
}

}  // namespace tributary
