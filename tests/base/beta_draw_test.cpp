#include "tributary/base/beta_draw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tributary {
namespace {

TEST(BetaDraw, HasTheMeanAndTheVarianceOfTheDistribution) {
  constexpr int kDraws = 20000;
  for (const double alpha : {0.2, 0.5, 1.0, 2.0, 10.0}) {
    Random random(3, Purpose::kMixup);
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double draw = beta_draw(random, alpha);
      ASSERT_GE(draw, 0);
      ASSERT_LE(draw, 1);
      sum += draw;
      squares += (draw - 0.5) * (draw - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

TEST(BetaDraw, IsFiniteForTheSmallestAlpha) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(std::isfinite(beta_draw(random, 1e-4)));
}

}  // namespace
}  // namespace tributary
