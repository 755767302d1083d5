#include "tributary/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/temp_dir.h"
#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/json_text.h"

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

TEST(Text, ForeignTextLosesWhatATerminalObeys) {
  EXPECT_EQ(safe_line("a\tb\nc\x1b[2J"), "a?b?c?[2J");
  EXPECT_EQ(safe_lines("a\tb\nc\rd"), "a\tb\nc?d");
  EXPECT_EQ(safe_line("\xc2\x9b"
                      "2J \u202e \u2028 \u2066 \x7f"),
            "?2J ? ? ? ?")
      << "C1, direction, line separator";
  EXPECT_EQ(safe_line("größe 日本"), "größe 日本");
  EXPECT_EQ(utf8_text("caf\xe9 é"), "caf\uFFFD é");
  EXPECT_THAT(test::message_of<InputError>([] {
                require_utf8({"ok", "caf\xe9"}, "photos");
              }),
              testing::HasSubstr("photos: the class name 'caf?' is not UTF-8"));
}

TEST(JsonText, AcceptsAnyBytes) {
  const nlohmann::json value = {{"name", "caf\xe9 \x1b\x7f\xc2\x9b"}};
  EXPECT_EQ(json_text(value), "{\"name\":\"caf\uFFFD \\u001b\\u007f\\u009b\"}");
  EXPECT_EQ(nlohmann::json::parse(json_text(value)).at("name"), "caf\uFFFD \x1b\x7f\xc2\x9b");
  EXPECT_EQ(json_text({{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(Csv, QuotesCellsAndDisarmsFormulas) {
  EXPECT_EQ(csv_field("mug"), "mug");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  for (const std::string formula : {"=1+1", "+1", "-1", "@sum", " =1", "\t=1", "=cmd|' /C calc'!A0"})
    EXPECT_EQ(csv_field(formula), "'" + formula);
  EXPECT_EQ(csv_field("a-b"), "a-b");
  EXPECT_EQ(csv_field("caf\xe9\x1b"), "caf\uFFFD?");
}

TEST(Text, TrimsBlanksAtTheEnds) {
  EXPECT_EQ(trimmed(" \ta b\r"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
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
