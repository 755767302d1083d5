#include "tributary/data/skew.h"

#include <gmock/gmock.h>

#include <set>

#include "tributary/base/error.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;

// `sizes[k]` pictures of class k, in turn.
Labels labels_of(const std::vector<int64_t>& sizes) {
  Labels labels;
  for (size_t k = 0; k < sizes.size(); ++k) {
    labels.classes.push_back(std::to_string(k));
    labels.values.insert(labels.values.end(), static_cast<size_t>(sizes[k]), static_cast<int64_t>(k));
  }
  return labels;
}

// The class sizes of a subset, the largest first.
std::vector<int64_t> sizes_of(const Labels& labels, const std::vector<int64_t>& rows) {
  std::vector<int64_t> sizes(labels.classes.size());
  for (const int64_t row : rows) ++sizes[static_cast<size_t>(labels.values[static_cast<size_t>(row)])];
  std::sort(sizes.rbegin(), sizes.rend());
  return sizes;
}

TEST(Skew, OneClassHasThreeQuarters) {
  const Labels labels = labels_of({30, 30, 30, 30, 30, 30});
  EXPECT_THAT(sizes_of(labels, skewed_rows(labels, Skew::kOneClass, 1)), ElementsAre(30, 2, 2, 2, 2, 2));
}

TEST(Skew, ALongTailFallsGeometrically) {
  const Labels labels = labels_of({100, 100, 100});
  // 100 / sqrt(50) = 14.1
  EXPECT_THAT(sizes_of(labels, skewed_rows(labels, Skew::kLongTail, 1)), ElementsAre(100, 14, 2));
}

TEST(Skew, ASmallClassLimitsTheSubset) {
  const Labels labels = labels_of({8, 8, 8, 8, 1000});
  std::set<std::vector<int64_t>> sizes;
  for (uint64_t seed = 0; seed < 12; ++seed) sizes.insert(sizes_of(labels, skewed_rows(labels, Skew::kOneClass, seed)));
  // The large class has three quarters of 8 * 16 pictures, or a small one has 8 of 11.
  EXPECT_THAT(sizes, ElementsAre(std::vector<int64_t>{8, 1, 1, 1, 1}, std::vector<int64_t>{96, 8, 8, 8, 8}));
}

TEST(Skew, DrawsDistinctRowsWithTheSeed) {
  const Labels labels = labels_of({40, 40, 40, 40});
  const std::vector<int64_t> rows = skewed_rows(labels, Skew::kLongTail, 3);
  EXPECT_EQ(std::set<int64_t>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_EQ(skewed_rows(labels, Skew::kLongTail, 3), rows);
  EXPECT_NE(skewed_rows(labels, Skew::kLongTail, 4), rows);
}

TEST(Skew, NeedsAPictureOfEveryClass) {
  EXPECT_THROW(skewed_rows(labels_of({4, 0, 4}), Skew::kOneClass, 1), InputError);
  EXPECT_THROW(skewed_rows(labels_of({4}), Skew::kOneClass, 1), InputError);
}

}  // namespace
}  // namespace tributary
