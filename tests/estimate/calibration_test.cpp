#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/tensors.h"
#include "tributary/estimate/calibrate.h"
#include "tributary/estimate/calibration_error.h"
#include "tributary/estimate/confidence_threshold.h"
#include "tributary/estimate/temperature.h"
#include "tributary/model/mixture.h"

namespace tributary {
namespace {

Tensor doubles(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64);
}

Tensor marks(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kInt64) == 1;
}

TEST(Temperature, MinimisesTheLogLikelihood) {
  // Logits (2, 0); three of four labels are class 0, so sigmoid(2 / T) = 3/4.
  const Tensor logits = doubles({2, 0}).repeat({4, 1});
  EXPECT_NEAR(fit_temperature(logits, test::indices({0, 0, 1, 0})), 2 / std::log(3), 1e-9);
  EXPECT_NEAR(fit_temperature(logits, test::indices({0, 0, 0, 0})), 0.05, 1e-9) << "all right: the end of the search";
}

TEST(Temperature, GivesTheMeanConfidence) {
  const Tensor probabilities = (5 * test::normals({50, 4}, 1)).softmax(1);
  for (const double wanted : {0.4, 0.7, 0.95}) {
    const Tensor p = tempered(probabilities, temperature_for_confidence(probabilities, wanted));
    EXPECT_NEAR(std::get<0>(p.max(1)).mean().item<double>(), wanted, 1e-5);
    EXPECT_TENSOR_EQ(p.argmax(1), probabilities.argmax(1));
  }
}

TEST(ConfidenceThreshold, RejectsAsManyAsAreWrong) {
  const Tensor scores = doubles({.55, .6, .7, .8, .85, .9, .92, .95, .97, .99});
  const double threshold = threshold_of_accuracy(scores, marks({0, 1, 0, 1, 0, 1, 1, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(threshold, 0.8);
  EXPECT_DOUBLE_EQ(share_at_least(scores, threshold), 0.7);
  EXPECT_DOUBLE_EQ(share_at_least(doubles({.5, .65, .75, .82, .88, .91, .93, .99}), threshold), 0.625);
  EXPECT_TRUE(std::isinf(threshold_of_accuracy(doubles({.5, .6}), marks({0, 0}))));
}

TEST(CalibrationError, WeighsTheBins) {
  const Tensor confidence = doubles({.95, .9, .85, .62, .61, .98}), right = marks({1, 1, 0, 1, 0, 1});
  EXPECT_NEAR(expected_calibration_error(confidence, right), 0.208333, 1e-6);
  EXPECT_NEAR(expected_calibration_error(confidence, right, 10), 0.175, 1e-9);
}

TEST(Calibration, DescribesASource) {
  // Sure of every label, and wrong on one of four.
  const Tensor logits = doubles({2, 0, 2, 0, 0, 2, 2, 0}).view({4, 2});
  const Calibration calibration = calibrate(logits, test::indices({0, 0, 1, 1}), "all");
  EXPECT_EQ(calibration.count, 4);
  EXPECT_DOUBLE_EQ(calibration.accuracy, 0.75);
  EXPECT_NEAR(calibration.temperature, 2 / std::log(3), 1e-9);
  EXPECT_NEAR(calibration.ece, 1 / (1 + std::exp(-2.0)) - 0.75, 1e-9);
  EXPECT_NEAR(calibration.ece_scaled, 0, 1e-9) << "sigmoid(2 / T) is the accuracy";
  EXPECT_THAT(calibration.class_share, testing::ElementsAre(0.5, 0.5));
  EXPECT_EQ(calibration_from_json(to_json(calibration), 2), calibration);
  EXPECT_ANY_THROW(calibration_from_json(to_json(calibration), 3)) << "other classes";
}

}  // namespace
}  // namespace tributary
