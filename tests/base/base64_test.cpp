#include "tributary/base/base64.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

std::string of(std::string_view text) {
  return base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// The test vectors of RFC 4648.
TEST(Base64, KnownAnswers) {
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foob"), "Zm9vYg==");
  EXPECT_EQ(of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(of("\xff\xfe\xfb"), "//77");
}

}  // namespace
}  // namespace tributary
