#include "tributary/launch/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "tests/support/program.h"
#include "tributary/base/error.h"
#include "tributary/launch/rank_info.h"

namespace tributary {
namespace {

// A launch of shells that run `script`. The grace periods are too long for a test to pass by timeout.
Launch shells(int64_t processes, const std::string& script) {
  Launch plan;
  plan.processes = processes;
  plan.program = "/bin/sh";
  plan.arguments = {"sh", "-c", script};
  plan.grace = plan.last_grace = 600;
  return plan;
}

TEST(Launch, SetsTheEnvironmentOfEveryRank) {
  const test::TempDir folder;
  unsetenv("OMP_NUM_THREADS");
  const std::string file = folder / "rank$RANK";
  EXPECT_EQ(launch(shells(3, "echo $LOCAL_RANK of $WORLD_SIZE at $MASTER_ADDR with $OMP_NUM_THREADS threads >" + file)),
            0);
  for (const std::string rank : {"0", "1", "2"})
    EXPECT_THAT(test::file_text(folder / ("rank" + rank)),
                testing::MatchesRegex(rank + " of 3 at 127.0.0.1 with [1-9][0-9]* threads\n"));
  ASSERT_EQ(launch(shells(2, "echo $MASTER_PORT >>" + (folder / "ports"))), 0);
  const std::string ports = test::file_text(folder / "ports");
  EXPECT_EQ(ports.substr(0, ports.size() / 2), ports.substr(ports.size() / 2));
}

TEST(Launch, GivesTheRanksOfAJobASecretOfTheirOwn) {
  const test::TempDir folder;
  setenv(kJobSecret, "known", 1);  // of a job around this one
  const auto secrets = [&](const std::string& file) {
    EXPECT_EQ(launch(shells(2, std::string("echo $") + kJobSecret + " >>" + (folder / file))), 0);
    return test::file_text(folder / file);
  };
  const std::string one = secrets("one"), other = secrets("other");
  unsetenv(kJobSecret);
  constexpr size_t kLine = 33;  // 128 bits in hexadecimal
  ASSERT_EQ(one.size(), 2 * kLine);
  EXPECT_EQ(one.substr(0, kLine), one.substr(kLine));
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef\n"), std::string::npos);
  EXPECT_NE(one, other);
}

TEST(Launch, KeepsOmpNumThreads) {
  const test::TempDir folder;
  setenv("OMP_NUM_THREADS", "7", 1);
  EXPECT_EQ(launch(shells(2, "test $OMP_NUM_THREADS = 7")), 0);
  unsetenv("OMP_NUM_THREADS");
}

TEST(Launch, OnlyRankZeroHasStandardOutput) {
  testing::internal::CaptureStdout();
  launch(shells(3, "echo from $RANK"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "from 0\n");
}

TEST(Launch, ReturnsTheExitCodeOfTheFailedRank) {
  EXPECT_EQ(launch(shells(3, "test $RANK != 1 || exit 3")), 3);
  EXPECT_EQ(launch(shells(2, "test $RANK != 1 || kill -KILL $$")), 128 + SIGKILL);
}

TEST(Launch, IgnoresTheExitCodeOfRanksThatLostAPeer) {
  setenv("TRIBUTARY_LAUNCHED", "1", 1);
  const std::string code = std::to_string(exit_code_for_lost_peer());
  unsetenv("TRIBUTARY_LAUNCHED");
  EXPECT_EQ(exit_code_for_lost_peer(), kWorkError);
  // Rank 0 exits first: rank 1 waits for the end of the pipe.
  const test::TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(launch(shells(2, "if test $RANK = 0; then exec 9>" + pipe + "; exit " + code + "; else cat " + pipe +
                                 "; exit 2; fi")),
            2);
  EXPECT_EQ(launch(shells(2, "exit " + code)), kWorkError);
}

TEST(Launch, ForwardsSignals) {
  // When both ranks are ready, rank 0 signals the parent.
  for (const int signal : {SIGTERM, SIGINT}) {
    const test::TempDir folder;
    const std::string pipe = folder / "pipe", name = signal == SIGTERM ? "TERM" : "INT";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const std::string script = "trap 'echo $RANK >" + (folder / "got$RANK") + "; exit 40' " + name +
                               "\nif test $RANK = 0; then read line <" + pipe + "; kill -" + name +
                               " $PPID; else echo ready >" + pipe + "; fi; while :; do sleep 0.1; done";
    EXPECT_EQ(launch(shells(2, script)), 40);
    EXPECT_EQ(test::file_text(folder / "got0"), "0\n");
    EXPECT_EQ(test::file_text(folder / "got1"), "1\n");
  }
}

TEST(Launch, TerminatesTheOthersAfterAFailure) {
  Launch plan = shells(2, "test $RANK = 1 && exit 5; exec sleep 600");
  plan.grace = 0.1;
  EXPECT_EQ(launch(plan), 5);
  // A rank that ignores SIGTERM.
  plan = shells(2, "test $RANK = 1 && exit 5; trap '' TERM; while :; do sleep 600; done");
  plan.grace = plan.last_grace = 0.1;
  EXPECT_EQ(launch(plan), 5);
}

TEST(Launch, LeavesNoProcessesWhenItIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    dup2(ends[1], STDERR_FILENO);
    _exit(launch(shells(3, "echo >&2; exec sleep 600")));
  }
  close(ends[1]);
  // Each rank writes one byte; the pipe is closed when the last rank has exited.
  char letter = 0;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(read(ends[0], &letter, 1), 1);
  kill(parent, SIGKILL);
  while (read(ends[0], &letter, 1) > 0) {
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Launch, OwnLaunchHasTheArgumentsOfThisProgram) {
  const Launch plan = own_launch(4);
  EXPECT_EQ(plan.processes, 4);
  EXPECT_EQ(access(plan.program.c_str(), X_OK), 0);
  ASSERT_FALSE(plan.arguments.empty());
  EXPECT_NE(plan.arguments[0].find("test"), std::string::npos);
}

}  // namespace
}  // namespace tributary
