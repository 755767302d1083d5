#include "tributary/base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

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

using MemoryDeathTest = ::testing::Test;

TEST(MemoryDeathTest, FewFilesAreAnInputError) {
  const auto with_limit = [](rlim_t files) {
    const rlimit limit{files, files};
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::string message = test::message_of<InputError>([] { require_files(); });
    ::write(STDERR_FILENO, message.data(), message.size());
    ::_exit(message.empty() ? 0 : kInputError);
  };
  EXPECT_EXIT(with_limit(20), ::testing::ExitedWithCode(kInputError), "may open only 20 files; allow at least 64");
}

TEST(Memory, RaisesTheNumberOfFiles) {
  rlimit before{}, raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_NO_THROW(require_files());
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_GT(raised.rlim_cur, 32u);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace tributary
