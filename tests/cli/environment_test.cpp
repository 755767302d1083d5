// The program under limits of the system, and how it starts its threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

// Two processes that keep two CPUs busy.
class BusyLoops {
 public:
  BusyLoops() {
    for (pid_t& loop : loops_) {
      loop = ::fork();
      if (loop == 0) {
        ::alarm(300);  // ends with this test, however that ends
        for (volatile bool busy = true; busy;) {
        }
      }
    }
  }
  ~BusyLoops() {
    for (const pid_t loop : loops_) {
      ::kill(loop, SIGKILL);
      ::waitpid(loop, nullptr, 0);
    }
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::array<pid_t, 2> loops_{};
};

// The CPU seconds of children that have ended. They do not depend on what else the machine does.
double child_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A thread that has to wait for a core makes the others spin: the program once took 94 times longer beside two loops.
TEST(Environment, BusyProgramsBesideItCostNoSpinning) {
  cpu_set_t all, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&two);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &two);
  if (CPU_COUNT(&two) < 2) GTEST_SKIP() << "skipped: one CPU";
  const test::TempDir folder;
  const std::string program = "cd " + shell_word(folder.path()) + "; exec timeout 60 " + shell_word(TRIBUTARY_BINARY);
  const auto done = [&](const std::string& arguments) {
    const Finished finished = run_process({"sh", "-c", program + " " + arguments});
    EXPECT_EQ(finished.code, 0) << arguments << finished.err;
  };
  done("data make digits data --pictures 100 --test-pictures 10");
  for (const char* domain : {"signs", "postal"})
    done(std::string("train --architecture lenet --epochs 1 --threads 1 --data data/") + domain +
         "/train-images.idx --out " + domain + ".safetensors");
  ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);
  const auto seconds = [&](const std::string& flags) {
    const double before = child_seconds();
    done(
        "adapt --source signs.safetensors postal.safetensors --target data/street/train-images.idx --rounds 1 "
        "--inner-epochs 1 --no-report " +
        flags);
    return child_seconds() - before;
  };
  const double one_thread = seconds("--run one --threads 1");
  double beside = 0;
  {
    const BusyLoops loops;
    beside = seconds("--run two --threads 2");
  }
  EXPECT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  EXPECT_LT(beside, 3 * one_thread);
}

}  // namespace
}  // namespace tributary
