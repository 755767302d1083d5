#include "tributary/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tributary {
namespace {

TEST(Text, GroupsThousands) {
  EXPECT_EQ(thousands(0), "0");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1000), "1,000");
  EXPECT_EQ(thousands(2817), "2,817");
  EXPECT_EQ(thousands(-999), "-999");
  EXPECT_EQ(thousands(-1234567), "-1,234,567");
  EXPECT_EQ(thousands(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, PercentagesHaveOneDecimal) {
  EXPECT_EQ(percent(0.9312), "93.1");
  EXPECT_EQ(percent(0), "0.0");
  EXPECT_EQ(percent(1), "100.0");
}

TEST(Text, DeviationIsThatOfTheSample) {
  // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations 32, over n − 1 = 7.
  const MeanAndDeviation several = mean_and_deviation({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(several.mean, 5);
  EXPECT_DOUBLE_EQ(several.deviation, std::sqrt(32.0 / 7.0));
  const MeanAndDeviation one = mean_and_deviation({3.5});
  EXPECT_EQ(one.mean, 3.5);
  EXPECT_EQ(one.deviation, 0);
  EXPECT_THROW((void)mean_and_deviation({}), std::logic_error);
}

TEST(Text, DurationsHaveAtMostTwoUnits) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(12), "12 s");
  EXPECT_EQ(duration(59.4), "59 s");
  EXPECT_EQ(duration(59.6), "1 m 00 s");
  EXPECT_EQ(duration(250), "4 m 10 s");
  EXPECT_EQ(duration(3599.9), "1 h 00 m");
  EXPECT_EQ(duration(3900), "1 h 05 m");
  EXPECT_EQ(duration(100 * 3600), "100 h 00 m");
  EXPECT_EQ(duration(-1), "?");
  EXPECT_EQ(duration(NAN), "?");
  EXPECT_EQ(duration(INFINITY), "?");
}

TEST(Text, WidthCountsColumns) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("93.1 ± 0.4"), 10);
  EXPECT_EQ(display_width("– █ ░ …"), 7);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("\xff\xc3"), 2);
}

TEST(Text, ShortensAtCodePoints) {
  EXPECT_EQ(shorten("█████", 5), "█████");
  EXPECT_EQ(shorten("██████", 5), "████…");
  EXPECT_EQ(shorten("日本語", 4), "日…");
  EXPECT_EQ(shorten("abc", 1), "…");
  EXPECT_EQ(shorten("abc", 0), "");
}

TEST(Text, PrintableReplacesControlCharacters) {
  EXPECT_EQ(printable("größe"), "größe");
  EXPECT_EQ(printable("a\x1b[2J\nb\xff"), "a?[2J?b?");
  EXPECT_EQ(printable(std::string(1000, 'x'), 10), "xxxxxxxxx…");
}

TEST(Text, RejectsInvalidUtf8) {
  EXPECT_TRUE(is_utf8("a é ± █ 😀"));
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "an overlong slash";
  EXPECT_FALSE(is_utf8("\xe0\x80\xaf"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "half a surrogate";
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80")) << "beyond Unicode";
  EXPECT_FALSE(is_utf8("\xe2\x96")) << "truncated";
}

TEST(Text, FindsTheNearestWord) {
  EXPECT_EQ(nearest("ruonds", {"seed", "rounds", "bounds"}), "rounds");
  EXPECT_EQ(nearest("selectiv", {"shot", "selective"}), "selective");
  EXPECT_EQ(nearest("entirely-else", {"rounds", "seed"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace tributary
