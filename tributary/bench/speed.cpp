#include "tributary/bench/speed.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tributary/data/listing.h"
#include "tributary/methods/step_runner.h"
#include "tributary/model/backbone.h"
#include "tributary/model/device.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepetitions = 5;

// Seconds that `work` takes on the device, the median of several times.
template <typename Work>
double seconds_of(torch::Device device, Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepetitions; ++i) {
    synchronise(device);
    const Clock::time_point start = Clock::now();
    work();
    synchronise(device);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

ImageSet random_pictures(int64_t count, const Framing& framing) {
  ImageSet images;
  images.height = images.width = framing.resize;
  images.crop = framing.size;
  images.names.resize(static_cast<size_t>(count));
  images.pixels.resize(static_cast<size_t>(count * images.picture_bytes()));
  Random random(1);
  for (uint8_t& value : images.pixels) value = static_cast<uint8_t>(random.bits());
  return images;
}

// Half of the pictures confident, the others not.
Selection half(int64_t count, int64_t classes, torch::Device device) {
  const Tensor all = torch::arange(count, at::device(device).dtype(torch::kInt64));
  return {all.remainder(classes), all.narrow(0, 0, count / 2), all.narrow(0, count / 2, count - count / 2)};
}

// Pictures that go through a source in training a second.
double training_speed(Ensemble& ensemble, const DeviceImages& images, const SpeedOptions& options, bool record) {
  SelectiveOptions method;
  method.batch = options.batch;
  method.precision = options.precision;
  method.record = record;
  StepRunner runner(ensemble, images, method);
  const OwnStream stream(images.device());
  runner.begin_round(half(images.size(), options.classes, images.device()));
  uint64_t number = 0;
  const auto run = [&](int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) {
      Random random(2, Purpose::kShuffle, {++number});
      const auto positions = [&] {
        Tensor index = torch::empty({options.batch}, torch::kInt64);
        for (int64_t k = 0; k < options.batch; ++k) index.data_ptr<int64_t>()[k] = random.below(images.size() / 2);
        return index;
      };
      runner.run(StepPlan(positions(), positions(), ensemble.size(), images, runner.augmentation(),
                          {random.child(0), random.child(1)}, random.child(2), random.child(3), 0.1));
    }
  };
  run(5);
  const double seconds = seconds_of(images.device(), [&] { run(options.steps); });
  return static_cast<double>(3 * options.batch * options.sources * options.steps) / seconds;
}

}  // namespace

void declare(OptionTable& table, SpeedOptions& options) {
  const std::string section = "speed";
  table.text(section, "architecture", &options.architecture, "network of every source");
  table.integer(section, "sources", &options.sources, 1, 64, "sources");
  table.integer(section, "batch", &options.batch, 2, 65536, "pictures a batch");
  table.integer(section, "classes", &options.classes, 2, 65536, "classes");
  table.integer(section, "pictures", &options.pictures, 8, 1000000, "pictures in memory");
  table.integer(section, "steps", &options.steps, 1, 100000, "steps a measurement");
  declare(table, section, options.precision);
}

nlohmann::json measure_speed(const SpeedOptions& options, torch::Device device, int threads) {
  Ensemble ensemble;
  const ModelInfo info = fresh_info(options.architecture, options.architecture, numbered_classes(options.classes));
  for (int64_t j = 0; j < options.sources; ++j) ensemble.sources.emplace_back(info, Random(static_cast<uint64_t>(j)));
  ensemble.to(device);
  const DeviceImages images(random_pictures(options.pictures, info.framing), device);
  const bool mixed = is_mixed(options.precision);
  evaluate(ensemble.sources.front(), images, mixed);
  const double evaluation = seconds_of(device, [&] { evaluate(ensemble.sources.front(), images, mixed); });
  nlohmann::json result = {{"device", device.str()},
                           {"architecture", options.architecture},
                           {"sources", options.sources},
                           {"batch", options.batch},
                           {"precision", mixed && device.is_cuda() ? "bfloat16" : "float32"},
                           {"threads", threads},
                           {"evaluate", static_cast<double>(options.pictures) / evaluation},
                           {"train_eager", training_speed(ensemble, images, options, false)}};
  if (RecordedWork::possible(device)) result["train_recorded"] = training_speed(ensemble, images, options, true);
  return result;
}

}  // namespace tributary
