// How fast this machine decodes, evaluates and trains, and how near that is to what it could do at most.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tributary/base/options.h"
#include "tributary/base/tensor.h"
#include "tributary/train/precision.h"

namespace tributary {

struct SpeedOptions {
  std::string architecture;  // empty: resnet50 on a GPU, dtn on a CPU
  int64_t sources = 2;       // m
  int64_t batch = 32;
  int64_t classes = 31;
  int64_t pictures = 512;
  int64_t steps = 0;  // a measurement; 0: 50 on a GPU, 5 on a CPU
  std::string jpegs;  // folder; empty: drawn ones
  Precision precision = Precision::kAuto;
};

void declare(OptionTable& table, SpeedOptions& options);

// Pictures per second of decoding (beside libjpeg-turbo alone), of evaluation and of training steps (mixed, confident
// and unconfident batch through every source, forward and backward, update), eager and recorded, each with its bound
// (roofline.h); the seconds of each phase of a short adaptation; the most memory taken. Pictures and weights are
// random. Figures are medians of five.
nlohmann::json measure_speed(SpeedOptions options, torch::Device device, int threads);

}  // namespace tributary
