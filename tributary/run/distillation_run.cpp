#include "tributary/run/distillation_run.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/stopwatch.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/eval/metrics.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/finished_model.h"
#include "tributary/run/planned_memory.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

// The source with the largest weight among those that are not TorchScript.
const SourceModel* strongest(const Ensemble& ensemble) {
  const SourceModel* best = nullptr;
  double most = -1;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const double weight = ensemble.mixture.weights.defined() ? ensemble.mixture.weights[j].item<double>() : 1;
    if (ensemble.sources[j].layered() == nullptr || weight <= most) continue;
    best = &ensemble.sources[j];
    most = weight;
  }
  return best;
}

// Measures a model on `images`, and its accuracy on `test` unless that is null. Writes the classes of `images` to
// `predicted`, int64 [n].
ModelMeasurement measure(Ensemble& ensemble, const DeviceImages& images, const DeviceImages* test, const Tensor& label,
                         Tensor& predicted) {
  ModelMeasurement result;
  const Stopwatch watch;
  predicted = combine(evaluate_logits(ensemble, images), ensemble.mixture).argmax(-1);
  synchronise(images.device());
  result.pictures_per_second = static_cast<double>(images.size()) / watch.seconds();
  result.networks = ensemble.size();
  for (const SourceModel& source : ensemble.sources) result.parameters += source.parameter_count();
  if (test != nullptr)
    result.accuracy = accuracy_of(combine(evaluate_logits(ensemble, *test), ensemble.mixture), label);
  return result;
}

}  // namespace

DistillationRun::DistillationRun(DistillationRunOptions options, Configuration config, DistributedSession& session,
                                 RunListener& listener)
    : options_(std::move(options)),
      config_(std::move(config)),
      session_(session),
      listener_(listener),
      model_file_(model_path(options_.model)) {
  config_.text = fmt::format("model = {}\n{}", toml_text(options_.model), config_.text);
  options_.checkpoints.notice = [this](const std::string& message) { listener_.on_warning(message); };
}

std::optional<DistillationRunResult> DistillationRun::run() {
  const bool finished = session_.agreed(
      session_.first() && finished_result(options_.out, config_, options_.checkpoints.restart).has_value());
  Ensemble teachers = load_ensemble(model_file_, options_.import);
  std::string notice;
  SourceModel student = finished ? load_source(options_.out) : make_student(teachers, notice);
  LoadOptions load = options_.load;
  load.preprocessing = teachers.preprocessing();
  std::vector<SkippedPicture> skipped;
  const ImageSet target = load_images(options_.target, load, &skipped);
  if (session_.first()) listener_.on_skipped(skipped, target.size() + static_cast<int64_t>(skipped.size()));
  session_.require_equal(target.size(), options_.target);
  std::optional<LabelledImages> test;
  if (!options_.test.empty()) {
    skipped.clear();
    test = load_labelled(options_.test, load, teachers.classes(), &skipped);
    if (session_.first()) listener_.on_skipped(skipped, test->images.size() + static_cast<int64_t>(skipped.size()));
  }

  if (session_.first() && !notice.empty()) listener_.on_warning(notice);
  teachers.to(options_.device);
  student.to(options_.device);
  session_.shard(teachers, SupportedSharding::kRows);
  session_.shard(student);
  // Teachers whose logits are non-finite are refused before a model is written.
  if (!finished) evaluate_logits(teachers, DeviceImages(target, options_.device));
  if (finished) {
    if (session_.first())
      listener_.on_warning(fmt::format("{} is already finished; distil it again with --restart", options_.out));
  } else if (session_.first()) {
    train(student, teachers, target);
  } else {
    set_memory(student, {options_.recompute});
    for (SourceModel& teacher : teachers.sources) set_memory(teacher, {options_.recompute});
    Checkpointer& checkpointer = session_.checkpointer(nullptr, options_.checkpoints);
    distill(student, teachers, target, options_.training, options_.seed, checkpointer, {});
  }
  return compare(teachers, std::move(student), target, test);
}

// Trains on the first rank, writes the model and removes its checkpoints.
void DistillationRun::train(SourceModel& student, Ensemble& teachers, const ImageSet& target) {
  make_folder(std::filesystem::absolute(options_.out).parent_path().string());
  FileCheckpoints checkpoints(options_.out, for_pictures(config_, target.digest), options_.checkpoints);
  if (finished_meanwhile(options_.out, config_, options_.checkpoints.restart, session_.comm() != nullptr)) {
    student = load_source(options_.out);
    student.to(options_.device);
    return;
  }
  Checkpointer& checkpointer = session_.checkpointer(&checkpoints.checkpointer(), options_.checkpoints);
  const NamedTensors initial = copy_of(student.state());
  constexpr int64_t kDefaultBatch = 64;
  const int64_t batch = options_.training.batch > 0 ? options_.training.batch : kDefaultBatch;
  PassMemory first{options_.recompute};
  if (!session_.comm()) first = planned_memory({&student, 1}, {}, batch, first, /*mixed_precision=*/false, listener_);
  const auto attempt = [&](const PassMemory& memory) {
    student.restore(initial);
    set_memory(student, memory);
    for (SourceModel& teacher : teachers.sources) set_memory(teacher, memory);
    if (memory != first) checkpoints.checkpointer().rescan();
    distill(student, teachers, target, options_.training, options_.seed, checkpointer,
            [&](const DistillationProgress& at) {
              listener_.on_progress(static_cast<double>(at.step) / static_cast<double>(at.steps), "distill",
                                    std::isnan(at.loss) ? "" : fmt::format("loss {:.3f}", at.loss));
            });
  };
  if (session_.comm())
    attempt(first);
  else
    retry_with_less_memory(first, batch, options_.device, attempt,
                           [&](const PassMemory& memory) { listener_.on_memory_retry(memory); });
  listener_.on_trained();
  save_finished(options_.out, student, config_, nlohmann::json::object());
  checkpoints.finish();
}

SourceModel DistillationRun::make_student(const Ensemble& teachers, std::string& notice) const {
  const std::string& init = options_.init;
  const std::string name = options_.name.empty() ? "student" : options_.name;
  const SourceModel* teacher = strongest(teachers);
  if (options_.architecture.empty() && teacher == nullptr)
    input_error("{} has only TorchScript sources; name the student's network with --architecture", options_.model);
  std::optional<WeightFile> weights;
  if (!init.empty() && init != kInitFresh && init != kInitTeacher) {
    ImportOptions import;
    import.architecture = options_.architecture;
    import.size = teachers.preprocessing().size;
    weights = read_weights(init, import);
  }
  const std::string network = weights                         ? weights->info.architecture
                              : options_.architecture.empty() ? teacher->info().architecture
                                                              : options_.architecture;
  const bool same = teacher != nullptr && teacher->info().architecture == network;
  if (init == kInitTeacher && !same)
    input_error("--init teacher: no source of {} is {}; choose that network or other initial weights", options_.model,
                network);
  const bool from_teacher = init == kInitTeacher || (init.empty() && same && architecture(network).photographs);
  if (options_.architecture.empty() && init.empty())
    notice = fmt::format("the student is {} and starts with {}", network,
                         from_teacher ? "the weights of " + teacher->info().name : "random weights");
  if (from_teacher) {
    ModelInfo info = teacher->info();
    info.name = name;
    info.calibration.reset();
    const bool has_all_classes = info.outputs.empty();
    info.outputs.clear();
    SourceModel student(info, has_all_classes ? Init() : Init(Random(options_.seed, Purpose::kInitialise)));
    NamedTensors state = copy_of(teacher->state());
    const NamedTensors fresh = student.state();
    for (size_t i = 0; i < state.size() && !has_all_classes; ++i)
      if (state[i].name.starts_with("classifier.")) state[i].value = fresh[i].value;
    student.restore(state);
    return student;
  }
  ModelInfo info = fresh_info(name, network, teachers.classes());
  require_preprocessing(architecture(network), teachers.preprocessing());
  info.preprocessing = teachers.preprocessing();
  if (weights) {
    info.normalisation = weights->info.normalisation;
    info.first_stride = weights->info.first_stride;
  } else if (architecture(network).photographs) {
    listener_.on_warning(
        fmt::format("{} starts with random weights, and a few thousand pictures are too few to train it well; give "
                    "ImageNet weights "
                    "with --init",
                    network));
  }
  SourceModel student(info, Random(options_.seed, Purpose::kInitialise));
  if (weights) import_backbone(*weights, init, student);
  return student;
}

std::optional<DistillationRunResult> DistillationRun::compare(Ensemble& teachers, SourceModel student,
                                                              const ImageSet& target,
                                                              const std::optional<LabelledImages>& test) const {
  const DeviceImages images(target, options_.device);
  std::optional<DeviceImages> test_images;
  Tensor label;
  if (test) {
    test_images.emplace(test->images, options_.device);
    label = torch::tensor(test->labels.values, torch::kInt64).to(options_.device);
  }
  const DeviceImages* test_set = test_images ? &*test_images : nullptr;
  Ensemble alone;
  alone.sources.push_back(std::move(student));
  Tensor by_mixture, by_student;
  DistillationRunResult result;
  result.mixture = measure(teachers, images, test_set, label, by_mixture);
  result.student = measure(alone, images, test_set, label, by_student);
  if (!session_.first()) return std::nullopt;
  result.mixture.bytes = static_cast<int64_t>(std::filesystem::file_size(model_file_));
  result.student.bytes = static_cast<int64_t>(std::filesystem::file_size(options_.out));
  result.model = options_.out;
  result.architecture = alone.sources.front().info().architecture;
  result.pictures = target.size();
  result.agreement = (by_mixture == by_student).to(torch::kFloat64).mean().item<double>();
  constexpr double kLowAgreement = 0.9;
  if (result.agreement < kLowAgreement)
    listener_.on_warning(
        fmt::format("the student gives {} % of the pictures another class than the mixture does, so it is a poor "
                    "replacement; train it longer (--epochs), choose a larger network (--architecture) or better "
                    "initial weights (--init)",
                    percent(1 - result.agreement)));
  return result;
}

}  // namespace tributary
