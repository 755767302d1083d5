#include "tributary/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace tributary {
namespace {

TEST(Random, DependsOnlyOnItsKey) {
  Random a(7, Purpose::kShuffle, {1, 2});
  Random b(7, Purpose::kShuffle, {1, 2});
  EXPECT_EQ(a.bits(), b.bits());
  EXPECT_NE(Random(7, Purpose::kShuffle, {1, 2}).bits(), Random(7, Purpose::kShuffle, {2, 1}).bits());
  EXPECT_NE(Random(7, Purpose::kShuffle).bits(), Random(7, Purpose::kDropout).bits());
  EXPECT_NE(Random(7, Purpose::kShuffle).bits(), Random(8, Purpose::kShuffle).bits());
}

TEST(Random, ChildrenAreIndependentStreams) {
  Random parent(3);
  const Random copy = parent;
  std::set<uint64_t> firsts;
  for (uint64_t i = 0; i < 1000; ++i) firsts.insert(parent.child(i).bits());
  EXPECT_EQ(firsts.size(), 1000u);
  EXPECT_EQ(parent.bits(), Random(copy).bits());
}

TEST(Random, YieldsKnownBits) {
  EXPECT_EQ(Random(0).bits(), 0x3da4588b8c08334fULL);
}

TEST(Random, UniformBellAndNormalHaveTheRightMoments) {
  Random random(1);
  const int count = 200000;
  double uniform = 0, bell = 0, bell2 = 0, normal = 0, normal2 = 0;
  for (int i = 0; i < count; ++i) {
    uniform += random.uniform();
    const double b = random.bell();
    const double n = random.normal();
    bell += b;
    bell2 += b * b;
    normal += n;
    normal2 += n * n;
  }
  EXPECT_NEAR(uniform / count, 0.5, 0.005);
  EXPECT_NEAR(bell / count, 0, 0.01);
  EXPECT_NEAR(bell2 / count, 1, 0.02);
  EXPECT_NEAR(normal / count, 0, 0.01);
  EXPECT_NEAR(normal2 / count, 1, 0.02);
}

TEST(Random, BelowStaysInRangeAndReachesEveryValue) {
  Random random(5);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen[random.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Random, PermutationContainsEveryIndexOnce) {
  const std::vector<int64_t> order = Random(9).permutation(100);
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 100u);
  EXPECT_NE(order, Random(10).permutation(100));
}

}  // namespace
}  // namespace tributary
