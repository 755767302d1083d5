#include "tributary/base/memory.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

TEST(Memory, AvailableMemoryIsKnown) {
  EXPECT_GT(available_memory(), int64_t{1} << 20);
  EXPECT_NO_THROW(require_memory(int64_t{1} << 30));
}

TEST(Memory, TooLittleIsAMemoryError) {
  const std::string message = test::message_of<MemoryError>([] { require_memory(int64_t{100} << 20); });
  EXPECT_NE(message.find("only 100 MiB are left"), std::string::npos) << message;
}

}  // namespace
}  // namespace tributary
