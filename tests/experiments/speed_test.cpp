// Measuring the training speed of a model from a file.
#include "tributary/experiments/speed.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

SpeedOptions short_measurement(const std::string& source) {
  SpeedOptions options;
  options.source = source;
  options.batch = 4;
  options.pictures = 16;
  options.steps = 1;
  return options;
}

TEST(Speed, OfAModelFileIsThatOfItsTrainingSteps) {
  const test::TempDir folder;
  save_source(folder / "model.safetensors", SourceModel(test::small_info("lenet", 5, 24), Random(3)));
  const nlohmann::json result = measure_speed(short_measurement(folder / "model.safetensors"), torch::kCPU, 1);
  EXPECT_EQ(result.at("architecture"), "lenet");
  EXPECT_EQ(result.at("sources"), 2);
  EXPECT_GT(result.at("train_eager").at("pictures_per_second").get<double>(), 0);
  EXPECT_FALSE(result.contains("decode"));
  EXPECT_FALSE(result.contains("phases"));
  EXPECT_THROW(measure_speed(short_measurement(folder / "none.pt"), torch::kCPU, 1), InputError);
}

}  // namespace
}  // namespace tributary
