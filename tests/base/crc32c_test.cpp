#include "tributary/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary {
namespace {

TEST(Crc32c, MatchesKnownChecksums) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283);  // the standard check value
  // RFC 3720, appendix B.4.
  std::string ascending, descending;
  for (char i = 0; i < 32; ++i) ascending += i;
  descending.assign(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43);
  EXPECT_EQ(crc32c(ascending), 0x46DD794E);
  EXPECT_EQ(crc32c(descending), 0x113FDB5C);
}

TEST(Crc32c, IsZeroForNoBytes) {
  EXPECT_EQ(crc32c(""), 0);
}

}  // namespace
}  // namespace tributary
