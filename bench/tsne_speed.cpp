// Times t-SNE of generated clusters.
//
//   tsne_speed POINTS WIDTH [THREADS [COMPONENTS]]
//
// Prints wall-clock seconds, CPU seconds of all threads, and the divergence. 2817 512 is the Amazon domain of Office-31
// with features of ResNet-18.
#include <chrono>
#include <ctime>
#include <iostream>
#include <string>

#include "tributary/base/random.h"
#include "tributary/device/device.h"
#include "tributary/embedding/tsne.h"

namespace {

using namespace tributary;

// The number of clusters is that of Office-31's classes, with unit variance around centres of unit variance.
Tensor clusters(int64_t points, int64_t width) {
  constexpr int64_t kClusters = 31;
  Tensor centres = torch::empty({kClusters, width}), features = torch::empty({points, width});
  Random random(1);
  const auto fill = [&](Tensor& values) {
    for (int64_t i = 0; i < values.numel(); ++i) values.data_ptr<float>()[i] = static_cast<float>(random.bell());
  };
  fill(centres);
  fill(features);
  return features + centres.index_select(0, torch::arange(points) % kClusters);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::cerr << "usage: tsne_speed POINTS WIDTH [THREADS [COMPONENTS]]\n";
    return 2;
  }
  const Tensor features = clusters(std::stoll(argv[1]), std::stoll(argv[2]));
  TsneOptions options;
  options.threads = argc > 3 ? std::stoi(argv[3]) : 0;
  options.components = argc > 4 ? std::stoll(argv[4]) : 0;
  if (options.threads > 0) set_threads(options.threads);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  const TsneResult result = tsne(features, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << argv[1] << " points of width " << argv[2] << ": " << seconds.count() << " s, "
            << static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC << " CPU s, divergence "
            << result.divergence << "\n";
}
