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

namespace tributary {
namespace {

// A launch of shells that run `script`; long graces, so that no test passes by them.
Launch shells(int64_t processes, const std::string& script) {
  Launch plan;
  plan.processes = processes;
  plan.program = "/bin/sh";
  plan.arguments = {"sh", "-c", script};
  plan.grace = plan.last_grace = 600;
  return plan;
}

TEST(Launch, TellsEveryProcessItsPlace) {
  const test::TempDir folder;
  unsetenv("OMP_NUM_THREADS");
  const std::string file = folder / "place$RANK";
  EXPECT_EQ(launch(shells(3, "echo $LOCAL_RANK of $WORLD_SIZE at $MASTER_ADDR with $OMP_NUM_THREADS threads >" + file)),
            0);
  for (const std::string rank : {"0", "1", "2"})
    EXPECT_THAT(test::file_text(folder / ("place" + rank)),
                testing::MatchesRegex(rank + " of 3 at 127.0.0.1 with [1-9][0-9]* threads\n"));
  ASSERT_EQ(launch(shells(2, "echo $MASTER_PORT >>" + (folder / "ports"))), 0);
  const std::string ports = test::file_text(folder / "ports");
  EXPECT_EQ(ports.substr(0, ports.size() / 2), ports.substr(ports.size() / 2));
}

TEST(Launch, LeavesAGivenNumberOfThreadsAlone) {
  const test::TempDir folder;
  setenv("OMP_NUM_THREADS", "7", 1);
  EXPECT_EQ(launch(shells(2, "test $OMP_NUM_THREADS = 7")), 0);
  unsetenv("OMP_NUM_THREADS");
}

TEST(Launch, GivesTheOutputToRankZeroOnly) {
  testing::internal::CaptureStdout();
  launch(shells(3, "echo from $RANK"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "from 0\n");
}

TEST(Launch, EndsWithTheCodeOfTheOneThatFailed) {
  EXPECT_EQ(launch(shells(3, "test $RANK != 1 || exit 3")), 3);
  EXPECT_EQ(launch(shells(2, "test $RANK != 1 || kill -KILL $$")), 128 + SIGKILL);
}

TEST(Launch, DoesNotTakeTheOneThatLostAPeerForTheCause) {
  setenv("TRIBUTARY_LAUNCHED", "1", 1);
  const std::string code = std::to_string(exit_code_for_lost_peer());
  unsetenv("TRIBUTARY_LAUNCHED");
  EXPECT_EQ(exit_code_for_lost_peer(), kWorkEnded);
  // Rank 0 ends first, as rank 1 sees from the pipe that only rank 0 writes to.
  const test::TempDir folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(launch(shells(2, "if test $RANK = 0; then exec 9>" + pipe + "; exit " + code + "; else cat " + pipe +
                                 "; exit 2; fi")),
            2);
  EXPECT_EQ(launch(shells(2, "exit " + code)), kWorkEnded);
}

TEST(Launch, PassesSignalsOn) {
  // Both ranks are ready when the second letter has come; then rank 0 asks the parent to stop.
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

TEST(Launch, MakesTheOthersEndWhenOneFailed) {
  Launch plan = shells(2, "test $RANK = 1 && exit 5; exec sleep 600");
  plan.grace = 0.1;
  EXPECT_EQ(launch(plan), 5);
  // One that will not hear.
  plan = shells(2, "test $RANK = 1 && exit 5; trap '' TERM; while :; do sleep 600; done");
  plan.grace = plan.last_grace = 0.1;
  EXPECT_EQ(launch(plan), 5);
}

TEST(Launch, LeavesNobodyBehindWhenItIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    dup2(ends[1], STDERR_FILENO);
    _exit(launch(shells(3, "echo >&2; exec sleep 600")));
  }
  close(ends[1]);
  // Each says that it runs; the pipe ends when the last of them has ended.
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

TEST(Launch, OfThisProgramHasItsArguments) {
  const Launch plan = own_launch(4);
  EXPECT_EQ(plan.processes, 4);
  EXPECT_EQ(access(plan.program.c_str(), X_OK), 0);
  ASSERT_FALSE(plan.arguments.empty());
  EXPECT_NE(plan.arguments[0].find("test"), std::string::npos);
}

}  // namespace
}  // namespace tributary
