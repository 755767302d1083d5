// Times one training step of selective self-training, including gathering and normalising the batches.
//
//   training_step ARCHITECTURE BATCH SOURCES STEPS THREADS
//
// Reads commands from standard input: "run" does STEPS steps and prints their median seconds, "quit" exits.
// bench/compare_step.py alternates it with the same step in PyTorch.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "tributary/base/memory.h"
#include "tributary/device/device.h"
#include "tributary/experiments/synthetic.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/train/device_images.h"

namespace {

using namespace tributary;

constexpr int64_t kPictures = 4096;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: training_step ARCHITECTURE BATCH SOURCES STEPS THREADS\n";
    return 2;
  }
  const int64_t batch_size = std::stoll(argv[2]);
  const int64_t steps = std::stoll(argv[4]);
  keep_freed_memory();
  set_threads(std::stoi(argv[5]));
  Ensemble ensemble = random_sources(argv[1], std::stoll(argv[3]), /*classes=*/10);
  const torch::Device device = resolve_device(DeviceChoice::kCpu);
  const DeviceImages images(random_pictures(kPictures, ensemble.preprocessing()), device);
  SelectiveStep step(ensemble, {});
  Random random(2);
  uint64_t number = 0;
  const auto one_step = [&] {
    const auto indices = [&](int64_t bound) {
      Tensor index = torch::empty({batch_size}, torch::kInt64);
      for (int64_t i = 0; i < batch_size; ++i) index.data_ptr<int64_t>()[i] = random.below(bound);
      return index;
    };
    const auto start = std::chrono::steady_clock::now();
    StepBatch batch;
    batch.confident = views(images.gather(indices(kPictures)), ensemble.sources);
    batch.unconfident = views(images.gather(indices(kPictures)), ensemble.sources);
    batch.label = indices(10);
    batch.mixing = {torch::tensor(static_cast<float>(random.uniform())),
                    torch::tensor(random.permutation(batch_size), torch::kInt64)};
    step.run(batch, 0.5, Random(3, Purpose::kDropout, {++number}));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int i = 0; i < 5; ++i) one_step();
  for (std::string line; std::getline(std::cin, line) && line == "run";) {
    std::vector<double> seconds;
    for (int64_t i = 0; i < steps; ++i) seconds.push_back(one_step());
    std::nth_element(seconds.begin(), seconds.begin() + steps / 2, seconds.end());
    std::cout << seconds[steps / 2] << std::endl;
  }
}
