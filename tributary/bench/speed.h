// How fast this machine evaluates and trains, on pictures and networks made for the purpose.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tributary/base/options.h"
#include "tributary/base/tensor.h"
#include "tributary/methods/selective_options.h"

namespace tributary {

struct SpeedOptions {
  std::string architecture = "resnet50";
  int64_t sources = 2;  // m
  int64_t batch = 32;
  int64_t classes = 31;
  int64_t pictures = 512;
  int64_t steps = 50;
  Precision precision = Precision::kAuto;
};

void declare(OptionTable& table, SpeedOptions& options);

// Pictures per second: of evaluation, and of training steps
// (mixed, confident and unconfident batch through every source, forward and backward, update), eager and recorded.
// Each training figure is the median of five runs of `steps` steps.
nlohmann::json measure_speed(const SpeedOptions& options, torch::Device device, int threads);

}  // namespace tributary
