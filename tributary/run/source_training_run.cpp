#include "tributary/run/source_training_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_number.h"
#include "tributary/base/text.h"
#include "tributary/data/nested_folders.h"
#include "tributary/data/picture_extent.h"
#include "tributary/device/device.h"
#include "tributary/run/finished_model.h"
#include "tributary/run/models.h"
#include "tributary/run/planned_memory.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

nlohmann::json to_json(const SourceTrainingRunResult& result) {
  return {{"name", result.name},
          {"architecture", result.architecture},
          {"classes", result.classes},
          {"pictures", result.pictures},
          {"validation_pictures", result.validation_pictures},
          {"validation_accuracy", result.validation_accuracy}};
}

// A first pass over a few pictures: finite weights can be too large to compute with.
void require_finite_logits(SourceModel& model, const std::string& weights, const ImageSet& images) {
  constexpr int64_t kPictures = 8;
  std::vector<int64_t> first(static_cast<size_t>(std::min(kPictures, images.size())));
  std::iota(first.begin(), first.end(), 0);
  model.set_file(weights);  // which the error names
  evaluate(model, DeviceImages(subset(images, first), model.device()));
  model.set_file({});
}

// The result of an earlier run. Its file is untrusted, so missing figures are 0.
SourceTrainingRunResult result_of(const nlohmann::json& finished, const std::string& model) {
  SourceTrainingRunResult result;
  result.model = model;
  try {
    result.name = finished.value("name", "");
    result.architecture = finished.value("architecture", "");
    result.classes = whole_number(finished, "classes", 0);
    result.pictures = whole_number(finished, "pictures", 0);
    result.validation_pictures = whole_number(finished, "validation_pictures", 0);
    result.validation_accuracy = finished.value("validation_accuracy", 0.0);
  } catch (const nlohmann::json::exception&) {
    input_error("{}: the record of its training is damaged; train it again with --restart", model);
  }
  result.already_finished = true;
  return result;
}

}  // namespace

std::string training_memory_file(const std::string& model) {
  return model + ".checkpoint/gpu-memory.json";
}

SourceTrainingRun::SourceTrainingRun(SourceTrainingRunOptions options, Configuration config,
                                     DistributedSession& session, RunListener& listener)
    : options_(std::move(options)), config_(std::move(config)), session_(session), listener_(listener) {
  options_.checkpoints.notice = [this](const std::string& message) { listener_.on_warning(message); };
}

ModelInfo SourceTrainingRun::network(const std::optional<WeightFile>& weights, std::string& notice) const {
  std::string name = weights ? weights->info.architecture : options_.import.architecture;
  if (name.empty()) name = network_for_pictures(notice);
  const std::string out_name = std::filesystem::path(options_.out).stem().string();
  ModelInfo info = fresh_info(options_.name.empty() ? domain_of(options_.data, out_name) : options_.name, name, {});
  if (weights) {
    info.preprocessing = weights->info.preprocessing;
    info.normalisation = weights->info.normalisation;
    info.first_stride = weights->info.first_stride;
  } else {
    apply_preprocessing(options_.import, architecture(info.architecture), info);
  }
  return info;
}

// The digit network for small pictures. Photographs need a choice: training from random weights takes many of them.
std::string SourceTrainingRun::network_for_pictures(std::string& notice) const {
  constexpr int64_t kLargestDigit = 64;
  const PictureExtent extent = typical_extent(options_.data, options_.load);
  if (extent.longer() > kLargestDigit)
    input_error(
        "{} has pictures of about {}x{}; give pretrained weights for photographs with --init FILE, or name a network "
        "with --architecture, such as resnet18 or mobilenet_v3_small (tributary train --help-all lists them)",
        options_.data, extent.width, extent.height);
  notice = fmt::format(
      "{} has pictures of {}x{}, so this trains dtn, a network for digits; choose another with "
      "--architecture",
      options_.data, extent.width, extent.height);
  return "dtn";
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

// Warns if the class folders look like domains, each with folders of the same classes.
void SourceTrainingRun::warn_of_domains(const LabelledImages& data) const {
  if (!std::filesystem::is_directory(options_.data)) return;
  const std::vector<std::string> shared = shared_folders(options_.data, data.images.names);
  if (shared.empty()) return;
  const std::vector<std::string>& classes = data.labels.classes;
  listener_.on_warning(
      fmt::format("the classes are the folders of {}: {}; if the classes are the folders inside them, as {}, name one "
                  "domain, as in "
                  "--data {}",
                  options_.data, printable(fmt::format("{}", fmt::join(classes, ", ")), 100),
                  printable(fmt::format("{}", fmt::join(shared, ", ")), 100),
                  (std::filesystem::path(options_.data) / classes.front()).string()));
}

Split SourceTrainingRun::load_split(const Preprocessing& preprocessing) const {
  const auto names = options_.classes.empty() ? std::vector<std::string>() : read_class_names(options_.classes);
  LabelledImages all = load(options_.data, preprocessing, names);
  if (all.labels.classes.size() < 2)
    input_error("{} has only the class '{}'; a classifier needs at least 2", options_.data, all.labels.classes.front());
  if (names.empty() && session_.first()) warn_of_domains(all);
  if (options_.validation.empty())
    return split_for_validation(all, options_.training.train_share, options_.training.full, options_.seed);
  LabelledImages validation = load(options_.validation, preprocessing, all.labels.classes);
  return {std::move(all), std::move(validation)};
}

std::optional<SourceTrainingRunResult> SourceTrainingRun::run() {
  std::optional<nlohmann::json> finished;
  if (session_.first()) finished = finished_result(options_.out, config_, options_.checkpoints.restart);
  if (session_.agreed(finished.has_value())) {
    if (!finished) return std::nullopt;
    return result_of(*finished, options_.out);
  }
  std::optional<WeightFile> weights;
  if (!options_.init.empty()) weights = read_weights(options_.init, options_.import);
  std::string notice;
  ModelInfo info = network(weights, notice);
  const Split split = load_split(info.preprocessing);
  if (session_.first() && !notice.empty()) listener_.on_warning(notice);
  session_.require_equal(split.training.images.size(), options_.data);
  info.classes = split.training.labels.classes;
  SourceModel model(info, Random(options_.seed, Purpose::kInitialise), options_.training.classifier_init);
  if (weights) import_backbone(*weights, options_.init, model);
  model.to(options_.device);
  if (weights) require_finite_logits(model, options_.init, split.training.images);
  weights.reset();
  session_.shard(model);
  if (!session_.first()) {
    set_memory(model, {options_.recompute});
    Checkpointer& checkpointer = session_.checkpointer(nullptr, options_.checkpoints);
    train_source(model, split.training, split.validation, options_.training, options_.seed, checkpointer);
    return std::nullopt;
  }
  SourceTrainingRunResult result{options_.out,
                                 info.name,
                                 info.architecture,
                                 static_cast<int64_t>(info.classes.size()),
                                 split.training.images.size(),
                                 split.validation.images.size()};
  train(model, split, result);
  result.gpu_peak_bytes = peak_process_memory(options_.device);
  return result;
}

void SourceTrainingRun::report_memory() {
  if (std::exchange(memory_reported_, true)) return;
  if (const int64_t peak = peak_process_memory(options_.device); peak > 0)
    write_file_atomically(training_memory_file(options_.out), fmt::format("{{\"gpu_peak_bytes\": {}}}\n", peak));
}

// Trains on the first rank, writes the model and removes its checkpoints.
void SourceTrainingRun::train(SourceModel& model, const Split& split, SourceTrainingRunResult& result) {
  const NamedTensors initial = copy_of(model.state());
  make_folder(std::filesystem::absolute(options_.out).parent_path().string());
  FileCheckpoints checkpoints(options_.out, for_pictures(config_, split.training.images.digest), options_.checkpoints);
  if (const auto finished =
          finished_meanwhile(options_.out, config_, options_.checkpoints.restart, session_.comm() != nullptr)) {
    result = result_of(*finished, options_.out);
    return;
  }
  Checkpointer& checkpointer = session_.checkpointer(&checkpoints.checkpointer(), options_.checkpoints);
  PassMemory first{options_.recompute};
  if (!session_.comm())
    first = planned_memory({&model, 1}, {}, options_.training.batch, first, is_mixed(options_.training.precision),
                           listener_);
  const auto attempt = [&](const PassMemory& memory) {
    model.restore(initial);
    set_memory(model, memory);
    if (memory != first) checkpoints.checkpointer().rescan();
    result.validation_accuracy =
        train_source(model, split.training, split.validation, options_.training, options_.seed, checkpointer,
                     [&](const SourceTrainingProgress& at) {
                       if (at.accuracy >= 0) report_memory();
                       listener_.on_progress(static_cast<double>(at.step) / static_cast<double>(at.steps),
                                             "train " + model.info().name,
                                             at.accuracy < 0 ? "" : "validation " + percent(at.accuracy) + " %");
                     });
  };
  if (session_.comm())
    attempt(first);
  else
    result.memory = retry_with_less_memory(first, options_.training.batch, options_.device, attempt,
                                           [&](const PassMemory& memory) { listener_.on_memory_retry(memory); });
  listener_.on_trained();
  save_finished(options_.out, model, config_, to_json(result));
  checkpoints.finish();
}

}  // namespace tributary
