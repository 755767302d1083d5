#include "tributary/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary {
namespace {

TEST(Crc32c, AnswersAsTheStandardsSay) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283);  // the check value in catalogues of checksums
  // RFC 3720, appendix B.4.
  std::string rising, falling;
  for (char i = 0; i < 32; ++i) rising += i;
  falling.assign(rising.rbegin(), rising.rend());
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43);
  EXPECT_EQ(crc32c(rising), 0x46DD794E);
  EXPECT_EQ(crc32c(falling), 0x113FDB5C);
}

TEST(Crc32c, OfNothingIsZero) {
  EXPECT_EQ(crc32c(""), 0);
}

}  // namespace
}  // namespace tributary
