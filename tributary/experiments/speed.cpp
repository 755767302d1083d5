#include "tributary/experiments/speed.h"

#include <nlohmann/json.hpp>

#include "tributary/base/memory.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/experiments/decode_speed.h"
#include "tributary/experiments/roofline.h"
#include "tributary/experiments/synthetic.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/selective_task.h"
#include "tributary/model/backbone.h"
#include "tributary/run/models.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/memory_plan.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

constexpr int kTimings = 5;

// Seconds of `work` on the device, median of kTimings.
template <typename Work>
double seconds_on(torch::Device device, Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < kTimings; ++i) {
    synchronise(device);
    seconds.push_back(seconds_of([&] {
      work();
      synchronise(device);
    }));
  }
  return median(seconds);
}

// Sources with the weights of one model.
Ensemble equal_sources(const std::string& source, bool trust, int64_t count) {
  ImportOptions import;
  import.trust = trust;
  Ensemble ensemble;
  for (int64_t j = 0; j < count; ++j) {
    ensemble.sources.push_back(std::move(load_models({source}, "", import).sources.front()));
    ensemble.sources.back().rename(fmt::format("source{}", j));
  }
  const SourceModel& first = ensemble.sources.front();
  if (first.backbone_parameters().empty() && first.bottleneck_parameters().empty())
    input_error(
        "{} has no parameter before its classifier that requires a gradient, so there is no training to measure",
        printable(source));
  return ensemble;
}

// A selection with half of the pictures confident.
Selection half_confident(int64_t count, int64_t classes, torch::Device device) {
  const Tensor all = torch::arange(count, at::device(device).dtype(torch::kInt64));
  return {all.remainder(classes), all.narrow(0, 0, count / 2), all.narrow(0, count / 2, count - count / 2)};
}

// Training speed: passes of a picture through a source per second.
double training_speed(Ensemble& ensemble, const DeviceImages& images, const SpeedOptions& options, bool cuda_graph) {
  SelectiveOptions method;
  method.batch = options.batch;
  method.precision = options.precision;
  method.cuda_graph = cuda_graph;
  SelectiveTask task(ensemble, images, method);
  TrainingLoop loop(task, images, task.loop_options());
  const OwnStream stream(images.device());
  const int64_t confident = images.size() / 2;
  task.begin_round(half_confident(images.size(), options.classes, images.device()), 1);
  uint64_t number = 0;
  const auto run = [&](int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) {
      Random random(2, Purpose::kShuffle, {++number});
      const auto positions = [&] {
        Tensor index = torch::empty({options.batch}, torch::kInt64);
        for (int64_t k = 0; k < options.batch; ++k) index.data_ptr<int64_t>()[k] = random.below(confident);
        return index;
      };
      const StepRandom draws{random.child(0), random.child(1), random.child(2), random.child(3)};
      const StepRows rows{positions(), positions() + confident};
      loop.run_step(loop.plan(task.draw(rows, draws, 0.1)));
    }
  };
  run(5);
  const double seconds = seconds_on(images.device(), [&] { run(options.steps); });
  return static_cast<double>(3 * options.batch * options.sources * options.steps) / seconds;
}

// Sums the time per phase of an adaptation.
class Phases : public Observer {
 public:
  void on_round(const RoundEvent& event) override {
    seconds_ += event.seconds;
    if (event.round > 0) training_ += event.phases.training;
    evaluation_ += event.phases.evaluation;
    weights_ += event.phases.weights;
    labels_ += event.phases.labels;
  }
  nlohmann::json shares() const {
    return {{"seconds", seconds_},
            {"training", training_ / seconds_},
            {"evaluation", evaluation_ / seconds_},
            {"weights", weights_ / seconds_},
            {"labels", labels_ / seconds_}};
  }

 private:
  double seconds_ = 0, training_ = 0, evaluation_ = 0, weights_ = 0, labels_ = 0;
};

nlohmann::json phases_of(Ensemble& ensemble, const ImageSet& images, const SpeedOptions& options) {
  SelectiveOptions method;
  method.batch = options.batch;
  method.precision = options.precision;
  method.rounds = 3;
  method.inner_epochs = 1;
  Phases phases;
  SelectiveSelfTraining(method).adapt(ensemble, images, phases);
  return phases.shares();
}

nlohmann::json relative_to_bound(double reached, double bound) {
  return {{"pictures_per_second", reached}, {"bound", bound}, {"share", reached / bound}};
}

}  // namespace

void declare(OptionTable& table, SpeedOptions& options) {
  const std::string section = "speed";
  table.text(section, "architecture", &options.architecture,
             "network of every source; by default the benchmark's; for speed, resnet50 on a GPU and dtn on a CPU");
  table
      .text(section, "source", &options.source,
            "speed: a model for every source instead of random weights, as vit.pth:size=224; measures training only")
      .metavar("FILE");
  table.flag(section, "trust", &options.trust, "speed: load a TorchScript file, which can run code")
      .transient()
      .flag_only();
  table.integer(section, "sources", &options.sources, 1, 64, "sources");
  table.integer(section, "batch", &options.batch, 2, 65536, "pictures per batch");
  table.integer(section, "classes", &options.classes, 2, 65536, "classes");
  table.integer(section, "pictures", &options.pictures, 8, 1000000, "pictures in memory");
  table.integer(section, "steps", &options.steps, 0, 100000,
                "training steps per measurement; 0 takes 50 on a GPU and 5 on a CPU");
  table.text(section, "jpegs", &options.jpegs, "folder of JPEGs to time decoding with; by default generated ones")
      .metavar("FOLDER");
  declare(table, section, options.precision);
  declare_recompute(table, section, options.recompute);
}

namespace {

// The memory of training passes: as options say, or less if it is short.
MemoryPlan plan_passes(Ensemble& ensemble, const SpeedOptions& options) {
  const PassMemory least{options.recompute};
  const MemoryPlan plan =
      memory_plan(ensemble.sources, held_passes(SelectiveOptions()), options.batch, least, is_mixed(options.precision))
          .value_or(MemoryPlan{.memory = least, .batch = options.batch});
  for (SourceModel& source : ensemble.sources) set_memory(source, plan.memory);
  return plan;
}

nlohmann::json description(const SpeedOptions& options, const MemoryPlan& plan, torch::Device device, int threads) {
  nlohmann::json result = {{"device", device.str()},
                           {"architecture", options.architecture},
                           {"sources", options.sources},
                           {"batch", options.batch},
                           {"recompute", name_of(plan.memory.recompute)},
                           {"segments", plan.memory.segments},
                           {"micro_batch", plan.memory.micro_batch},
                           {"precision", device.is_cuda() && is_mixed(options.precision) ? "bfloat16" : "float32"},
                           {"threads", threads}};
  if (plan.available > 0)
    result["plan"] = {{"step_gib", plan.step / kGibibyte}, {"available_gib", plan.available / kGibibyte}};
  return result;
}

nlohmann::json memory_taken(torch::Device device) {
  nlohmann::json memory = {{"host_gib", static_cast<double>(peak_memory()) / kGibibyte}};
  if (device.is_cuda()) memory["gpu_gib"] = static_cast<double>(peak_memory(device)) / kGibibyte;
  return memory;
}

// Training speed with the weights of a file.
nlohmann::json measure_source(SpeedOptions options, torch::Device device, int threads) {
  Ensemble ensemble = equal_sources(options.source, options.trust, options.sources);
  ensemble.to(device);
  const MemoryPlan plan = plan_passes(ensemble, options);
  options.architecture = ensemble.sources.front().info().architecture;
  options.classes = static_cast<int64_t>(ensemble.classes().size());
  const DeviceImages images(random_pictures(options.pictures, ensemble.preprocessing()), device);
  const auto measured = [&](bool cuda_graph) {
    return nlohmann::json{{"pictures_per_second", training_speed(ensemble, images, options, cuda_graph)}};
  };
  nlohmann::json result = description(options, plan, device, threads);
  result["train_eager"] = measured(false);
  if (CudaGraph::possible(device) && ensemble.sources.front().capturable()) result["train_recorded"] = measured(true);
  result["memory"] = memory_taken(device);
  return result;
}

}  // namespace

nlohmann::json measure_speed(SpeedOptions options, torch::Device device, int threads) {
  const bool gpu = device.is_cuda();
  if (options.architecture.empty()) options.architecture = gpu ? "resnet50" : "dtn";
  if (options.steps == 0) options.steps = gpu ? 50 : 5;
  if (!options.source.empty()) return measure_source(options, device, threads);
  const bool bfloat16 = gpu && is_mixed(options.precision);
  Ensemble ensemble = random_sources(options.architecture, options.sources, options.classes);
  ensemble.to(device);
  const MemoryPlan plan = plan_passes(ensemble, options);
  const ImageSet pictures = random_pictures(options.pictures, ensemble.preprocessing());
  const DeviceImages images(pictures, device);
  SourceModel& first = ensemble.sources.front();

  const DecodeSpeed decode = measure_decoding(jpegs_for_timing(options.jpegs, options.pictures), threads);
  const Backbone backbone = make_backbone(options.architecture, first.info().first_stride, std::nullopt);
  const DevicePeak peak = measure_peak(device, bfloat16);
  const auto bound = [&](bool training) {
    return roofline(work_of(backbone.network, ensemble.preprocessing().size, training), peak, bfloat16 ? 2 : 4,
                    training);
  };
  evaluate(first, images, bfloat16);
  const double evaluation = seconds_on(device, [&] { evaluate(first, images, bfloat16); });
  const double eager = training_speed(ensemble, images, options, false);
  nlohmann::json result = description(options, plan, device, threads);
  result["peak"] = {{"teraflops", peak.flops / 1e12}, {"gigabytes_per_second", peak.bytes / 1e9}};
  result["decode"] = relative_to_bound(decode.ours, decode.libjpeg);
  result["evaluate"] = relative_to_bound(static_cast<double>(options.pictures) / evaluation, bound(false));
  result["train_eager"] = relative_to_bound(eager, bound(true));
  if (CudaGraph::possible(device) && first.capturable())
    result["train_recorded"] = relative_to_bound(training_speed(ensemble, images, options, true), bound(true));
  result["phases"] = phases_of(ensemble, pictures, options);
  result["memory"] = memory_taken(device);
  return result;
}

}  // namespace tributary
