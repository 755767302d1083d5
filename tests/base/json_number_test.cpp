// Integers of foreign JSON.
#include "tributary/base/json_number.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

int64_t read(const std::string& text) {
  return whole_number(nlohmann::json::parse(text));
}

TEST(JsonNumber, ReadsIntegersOfEitherSign) {
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("-7"), -7);
  EXPECT_EQ(read("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read("18446744073709551615"), INT64_MAX) << "the largest that there is";
}

TEST(JsonNumber, RefusesWhatIsNoInteger) {
  for (const char* text : {"2.5", "3.0", "1e31", "-1e31", "10000000000000000000000000000000", "\"3\"", "null", "true"})
    EXPECT_THROW(read(text), nlohmann::json::type_error) << text;
}

TEST(JsonNumber, TakesTheDefaultOfAMissingMember) {
  const nlohmann::json object = nlohmann::json::parse(R"({"rounds": 3, "sources": []})");
  EXPECT_EQ(whole_number(object, "rounds", 1), 3);
  EXPECT_EQ(whole_number(object, "skipped", 1), 1);
  EXPECT_THROW(whole_number(object, "sources", 1), nlohmann::json::type_error);
}

}  // namespace
}  // namespace tributary
