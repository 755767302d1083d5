#include "tributary/run/source_training_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/models.h"
#include "tributary/train/memory_retry.h"

namespace tributary {

std::string training_memory_file(const std::string& model) {
  return model + ".checkpoint/gpu-memory.json";
}

SourceTrainingRun::SourceTrainingRun(SourceTrainingRunOptions options, Configuration config,
                                     DistributedSession& session, RunListener& listener)
    : options_(std::move(options)), config_(std::move(config)), session_(session), listener_(listener) {}

ModelInfo SourceTrainingRun::network(const std::optional<WeightFile>& weights) const {
  std::string name = weights ? weights->info.architecture : options_.import.architecture;
  if (name.empty()) name = "dtn";
  ModelInfo info = fresh_info(options_.name.empty() ? domain_of(options_.data) : options_.name, name, {});
  if (weights) {
    info.preprocessing = weights->info.preprocessing;
    info.normalisation = weights->info.normalisation;
    info.first_stride = weights->info.first_stride;
  } else {
    apply_preprocessing(options_.import, architecture(info.architecture), info);
  }
  return info;
}

LabelledImages SourceTrainingRun::load(const std::string& path, const Preprocessing& preprocessing,
                                       const std::vector<std::string>& classes) const {
  LoadOptions options = options_.load;
  options.preprocessing = preprocessing;
  std::vector<SkippedPicture> skipped;
  LabelledImages images = load_labelled(path, options, classes, &skipped);
  if (session_.first()) listener_.on_skipped(skipped, images.images.size() + static_cast<int64_t>(skipped.size()));
  return images;
}

Split SourceTrainingRun::load_split(const Preprocessing& preprocessing) const {
  LabelledImages all = load(options_.data, preprocessing, {});
  if (all.labels.classes.size() < 2)
    input_error("{} has only the class '{}'; a classifier needs at least 2", options_.data, all.labels.classes.front());
  if (options_.validation.empty())
    return split_for_validation(all, options_.training.train_share, options_.training.full, options_.seed);
  LabelledImages validation = load(options_.validation, preprocessing, all.labels.classes);
  return {std::move(all), std::move(validation)};
}

std::optional<SourceTrainingRunResult> SourceTrainingRun::run() {
  std::optional<WeightFile> weights;
  if (!options_.init.empty()) weights = read_weights(options_.init, options_.import);
  ModelInfo info = network(weights);
  const Split split = load_split(info.preprocessing);
  session_.require_equal(split.training.images.size(), options_.data);
  info.classes = split.training.labels.classes;
  // A checkpoint of other pictures then belongs to another run.
  config_.text = fmt::format("data_digest = \"{:016x}\"\n{}", split.training.images.digest, config_.text);
  SourceModel model(info, Random(options_.seed, Purpose::kInitialise), options_.training.classifier_init);
  if (weights) import_backbone(*weights, options_.init, model);
  weights.reset();
  model.to(options_.device);
  session_.shard(model);
  if (!session_.first()) {
    Checkpointer& checkpointer = session_.checkpointer(nullptr, options_.checkpoints);
    train_source(model, split.training, split.validation, options_.training, options_.seed, checkpointer);
    return std::nullopt;
  }
  double accuracy = 0;
  const int64_t micro_batch = train(model, split, accuracy);
  return SourceTrainingRunResult{options_.out,
                                 info.name,
                                 info.architecture,
                                 static_cast<int64_t>(info.classes.size()),
                                 split.training.images.size(),
                                 split.validation.images.size(),
                                 accuracy,
                                 micro_batch,
                                 peak_process_memory(options_.device)};
}

void SourceTrainingRun::report_memory() {
  if (std::exchange(memory_reported_, true)) return;
  if (const int64_t peak = peak_process_memory(options_.device); peak > 0)
    write_file_atomically(training_memory_file(options_.out), fmt::format("{{\"gpu_peak_bytes\": {}}}\n", peak));
}

// Trains on the first rank, writes the model and removes its checkpoints. Sets the validation accuracy.
int64_t SourceTrainingRun::train(SourceModel& model, const Split& split, double& accuracy) {
  const NamedTensors initial = copy_of(model.state());
  make_folder(std::filesystem::absolute(options_.out).parent_path().string());
  FileCheckpoints checkpoints(options_.out, config_, options_.checkpoints);
  Checkpointer& checkpointer = session_.checkpointer(&checkpoints.checkpointer(), options_.checkpoints);
  int64_t taken = 0;
  const auto attempt = [&](int64_t micro_batch) {
    model.restore(initial);
    set_micro_batch(model, micro_batch);
    if (micro_batch > 0) checkpoints.checkpointer().rescan();
    accuracy = train_source(model, split.training, split.validation, options_.training, options_.seed, checkpointer,
                            [&](const SourceTrainingProgress& at) {
                              if (at.accuracy >= 0) report_memory();
                              listener_.on_progress(static_cast<double>(at.step) / static_cast<double>(at.steps),
                                                    "train " + model.info().name,
                                                    at.accuracy < 0 ? "" : "validation " + percent(at.accuracy) + " %");
                            });
  };
  if (session_.comm())
    attempt(/*micro_batch=*/0);
  else
    taken = retry_with_micro_batches(options_.training.batch, options_.device, attempt,
                                     [&](int64_t micro_batch) { listener_.on_memory_retry(micro_batch); });
  listener_.on_trained();
  save_source(options_.out, model);
  checkpoints.finish();
  return taken;
}

}  // namespace tributary
