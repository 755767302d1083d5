// Measures decoding, evaluation and training speed of this machine, each relative to an upper bound.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tributary/base/options.h"
#include "tributary/base/tensor.h"
#include "tributary/model/pass_memory.h"
#include "tributary/train/precision.h"

namespace tributary {

struct SpeedOptions {
  std::string architecture;  // empty: resnet50 on a GPU, dtn on a CPU
  std::string source;        // a model instead of random weights; empty: random weights
  bool trust = false;        // it may be TorchScript, which can run code
  int64_t sources = 2;       // m
  int64_t batch = 32;
  int64_t classes = 31;
  int64_t pictures = 512;
  int64_t steps = 0;  // per measurement; 0: 50 on a GPU, 5 on a CPU
  std::string jpegs;  // folder; empty: generated ones
  Precision precision = Precision::kAuto;
  Recompute recompute = Recompute::kNone;
};

void declare(OptionTable& table, SpeedOptions& options);

// Measures pictures per second of decoding (relative to libjpeg-turbo), of evaluation and of training steps (mixed,
// confident and unconfident batch through every source, forward, backward, update), eager and with a CUDA graph, each
// with its bound (roofline.h). Also measures the seconds per phase of a short adaptation and the peak memory. Pictures
// and weights are random. Results are medians of five. With `options.source`, every source has the weights of that
// model, which may be TorchScript, and only training steps are measured, without a bound.
nlohmann::json measure_speed(SpeedOptions options, torch::Device device, int threads);

}  // namespace tributary
