// The program under limits of the system, and how it starts its threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/program.h"
#include "tributary/base/process.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Runs the program after shell commands that set limits or variables.
Finished run_after(const std::string& setup, const std::string& arguments) {
  return run_process({"sh", "-c", setup + "; exec " + test::shell_quoted(TRIBUTARY_BINARY) + " " + arguments});
}

TEST(Environment, LowLimitsAreOneSentence) {
  // While LibTorch is loaded, some sizes of the address space are an error of the linker and some make OpenBLAS wait
  // for ever.
  for (const char* limit : {"ulimit -v 100000", "ulimit -v 600000", "ulimit -v 1900000", "ulimit -n 20"}) {
    const Finished finished = run_after(limit, "inspect nothing.safetensors");
    EXPECT_EQ(finished.code, 2) << limit;
    EXPECT_THAT(finished.err, ::testing::StartsWith("tributary")) << limit;
    EXPECT_THAT(finished.err, HasSubstr("; allow at least ")) << limit;
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  }
}

TEST(Environment, TooManyProcessesAreOneSentence) {
  const Finished finished = run_after(":", "adapt --source nothing.safetensors --target nothing --processes 1000");
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--processes"));
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
}

// Beside other programs that keep the cores busy, threads that spin at the end of a loop take the core from the one
// they wait for. libgomp says how long it spins.
TEST(Environment, OpenMpThreadsSpinBriefly) {
  const auto spins = [](const std::string& setup) {
    return run_after(setup + " export OMP_DISPLAY_ENV=VERBOSE", "--version").err;
  };
  const std::string by_default = spins("unset OMP_WAIT_POLICY GOMP_SPINCOUNT;");
  if (by_default.find("GOMP_SPINCOUNT") == std::string::npos) GTEST_SKIP() << "skipped: OpenMP is not that of GCC";
  EXPECT_THAT(by_default, HasSubstr("GOMP_SPINCOUNT = '1000'"));
  EXPECT_THAT(spins("export GOMP_SPINCOUNT=7;"), HasSubstr("GOMP_SPINCOUNT = '7'"));
  EXPECT_THAT(spins("export OMP_WAIT_POLICY=active;"), Not(HasSubstr("GOMP_SPINCOUNT = '1000'")));
}

}  // namespace
}  // namespace tributary
