#include "tributary/base/base64.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

std::string encoded(std::string_view text) {
  return base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST(Base64, MatchesTheTestVectorsOfRfc4648) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe\xfb"), "//77");
}

}  // namespace
}  // namespace tributary
