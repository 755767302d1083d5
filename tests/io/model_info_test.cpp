#include "tributary/io/model_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::message_of;
using testing::HasSubstr;
using testing::Not;

ModelInfo sample() {
  ModelInfo info;
  info.name = "mnist";
  info.architecture = "lenet";
  info.classes = {"0", "1", "2"};
  return info;
}

// The sample's JSON with `text` replaced.
std::string with(const std::string& text, const std::string& replacement) {
  std::string json = to_json(sample());
  const size_t at = json.find(text);
  EXPECT_NE(at, std::string::npos) << text;
  return json.replace(at, text.size(), replacement);
}

TEST(ModelInfo, RoundTrips) {
  EXPECT_EQ(to_json(model_info_from_json(to_json(sample()), "a.safetensors")), to_json(sample()));
  EXPECT_EQ(model_infos_from_json("[" + to_json(sample()) + "," + to_json(sample()) + "]", "a.safetensors").size(), 2u);
}

TEST(ModelInfo, RejectsInvalidDescriptions) {
  struct Case {
    std::string text;
    const char* expected;
  };
  const Case cases[] = {
      {"", "invalid model description"},
      {"[]", "invalid model description"},
      {std::string(200'000, '['), "invalid model description"},
      {with(R"("feature_width":256)", R"("feature_width":1e300)"), "not an integer in range"},
      {with(R"("input_size":32)", R"("input_size":4294967328)"), "not an integer in range"},  // 2^32 + 32
      {with(R"("resize":32)", R"("resize":-32)"), "not an integer in range"},
      {with(R"("resize":32)", R"("resize":31)"), "input size 32 with resize 31"},
      {with(R"("classes":["0","1","2"])", R"("classes":["0","0"])"), "duplicate class name"},
      {with(R"("weight_norm")", R"("\u001b[2J")"), "classifier '?[2J'"},
  };
  for (const Case& c : cases) {
    const std::string message = message_of<InputError>([&] { model_info_from_json(c.text, "a.safetensors"); });
    EXPECT_THAT(message, HasSubstr(c.expected)) << c.text.substr(0, 300);
    EXPECT_THAT(message, Not(HasSubstr("\x1b")));
  }
}

TEST(ModelInfo, RejectsInvalidLists) {
  // Deep enough to overflow the stack of a recursive parser.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& text : {std::string("[]"), std::string("{}"), std::string("[1]"), deep, "[" + deep + "]"})
    EXPECT_THAT(message_of<InputError>([&] { model_infos_from_json(text, "a.safetensors"); }),
                HasSubstr("invalid model description"));
}

}  // namespace
}  // namespace tributary
