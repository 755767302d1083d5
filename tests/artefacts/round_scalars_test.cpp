#include "tributary/artefacts/round_scalars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace tributary {

void PrintTo(const Scalar& scalar, std::ostream* out) {
  *out << scalar.tag << " = " << scalar.value;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RoundScalars, GroupsMetrics) {
  const nlohmann::json metrics = {{"round", 3},
                                  {"rounds", 20},
                                  {"pictures", 2817},
                                  {"weights", {0.25, 0.75}},
                                  {"weight_sum", 1.0},
                                  {"entropy", 0.5},
                                  {"marginal_entropy", 3.25},
                                  {"initial_confident", 2112},
                                  {"confident", 2218},
                                  {"mean_confidence", 0.875},
                                  {"cross_entropy", {1.5, 2.5}},
                                  {"information", {-2.75, -2.5}},
                                  {"adversarial", 0.75},
                                  {"discriminator", 1.25},
                                  {"seconds", 10.0},
                                  {"training_seconds", 8.0},
                                  {"evaluation_seconds", 1.0},
                                  {"weights_seconds", 0.5},
                                  {"labels_seconds", 0.25},
                                  {"pictures_per_second", 3412.0}};
  EXPECT_THAT(round_scalars(metrics, {"dslr", "webcam"}),
              testing::UnorderedElementsAre(
                  Scalar{"weights/dslr", 0.25}, Scalar{"weights/webcam", 0.75}, Scalar{"mixture/weight_sum", 1},
                  Scalar{"mixture/entropy", 0.5}, Scalar{"mixture/marginal_entropy", 3.25},
                  Scalar{"selection/initial_confident", 2112}, Scalar{"selection/confident", 2218},
                  Scalar{"selection/mean_confidence", 0.875}, Scalar{"losses/cross_entropy/dslr", 1.5},
                  Scalar{"losses/cross_entropy/webcam", 2.5}, Scalar{"losses/information/dslr", -2.75},
                  Scalar{"losses/information/webcam", -2.5}, Scalar{"losses/adversarial", 0.75},
                  Scalar{"losses/discriminator", 1.25}, Scalar{"seconds/round", 10}, Scalar{"seconds/training", 8},
                  Scalar{"seconds/evaluation", 1}, Scalar{"seconds/weights", 0.5}, Scalar{"seconds/labels", 0.25},
                  Scalar{"speed/pictures_per_second", 3412}));
}

TEST(RoundScalars, NamesLossesAfterTheirKeys) {
  EXPECT_THAT(round_scalars({{"bite", {1.0, 2.0}}}, {"a", "b"}),
              ElementsAre(Scalar{"losses/bite/a", 1}, Scalar{"losses/bite/b", 2}));
  EXPECT_THAT(round_scalars({{"class_relations", nlohmann::json::array({4.0})}}, {"a", "b"}),
              ElementsAre(Scalar{"losses/class_relations", 4}));  // shared by all sources
  EXPECT_THAT(round_scalars({{"bite", nlohmann::json::array({4.0})}}, {"a"}), ElementsAre(Scalar{"losses/bite/a", 4}));
  EXPECT_THAT(round_scalars({{"bite", nlohmann::json::array()}}, {}), IsEmpty());
  EXPECT_THROW(round_scalars({{"bite", {1.0, 2.0, 3.0, 4.0}}}, {"a", "b", "c"}), std::logic_error);
}

TEST(RoundScalars, NumbersSourcesWithEqualNames) {
  const auto scalars = round_scalars({{"weights", {1.0, 2.0, 3.0, 4.0}}}, {"resnet50", "webcam", "resnet50", ""});
  EXPECT_THAT(scalars, ElementsAre(Scalar{"weights/resnet50 (1)", 1}, Scalar{"weights/webcam", 2},
                                   Scalar{"weights/resnet50 (3)", 3}, Scalar{"weights/ (4)", 4}));
}

TEST(RoundScalars, KeepsNaN) {
  const auto scalars = round_scalars({{"entropy", std::nan("")}}, {"a"});
  ASSERT_EQ(scalars.size(), 1);
  EXPECT_TRUE(std::isnan(scalars[0].value));
}

}  // namespace
}  // namespace tributary
