#include "tributary/base/interrupt.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/folder_lock.h"
#include "tributary/base/process.h"

namespace tributary {
namespace {

bool readable(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

TEST(Interrupt, IsReportedByCheckAndDescriptor) {
  for (const int signal : {SIGTERM, SIGINT}) {
    catch_interrupts();
    EXPECT_NO_THROW(check_interrupt());
    EXPECT_FALSE(readable(interrupt_descriptor()));
    raise(signal);
    EXPECT_TRUE(readable(interrupt_descriptor()));
    try {
      check_interrupt();
      ADD_FAILURE();
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.exit_code(), 128 + signal);
    }
    forget_interrupt();
    EXPECT_NO_THROW(check_interrupt());
    EXPECT_FALSE(readable(interrupt_descriptor()));
  }
}

using InterruptDeathTest = ::testing::Test;

TEST(InterruptDeathTest, ASecondSignalKillsTheProgram) {
  const auto twice = [] {
    catch_interrupts();
    raise(SIGINT);
    raise(SIGTERM);  // another kind does not count as the second
    raise(SIGINT);
  };
  EXPECT_EXIT(twice(), ::testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptDeathTest, ALongStepIsKilledAfterTheTimeout) {
  const auto busy = [] {
    catch_interrupts();
    raise(SIGTERM);
    for (;;) pause();
  };
  EXPECT_EXIT(busy(), ::testing::ExitedWithCode(143), "resume from the last checkpoint");
}

TEST(Process, IsTerminatedWhenWeAreInterrupted) {
  catch_interrupts();
  raise(SIGTERM);
  const Finished finished = run_process({"sh", "-c", "exec sleep 600"});
  forget_interrupt();
  EXPECT_EQ(finished.code, 128 + SIGTERM);
}

TEST(FolderLock, IsExclusive) {
  const test::TempDir folder;
  const std::chrono::milliseconds soon(50);
  {
    const FolderLock first(folder.path(), soon);
    const std::string message = test::message_of<InputError>([&] { const FolderLock second(folder.path(), soon); });
    EXPECT_NE(message.find("in use by another process"), std::string::npos) << message;
  }
  const FolderLock third(folder.path(), soon);
  folder.write("file", "");
  EXPECT_THROW(FolderLock(folder / "file", soon), InputError);
}

TEST(FolderLock, IsOfTheFolderThatReplacedARemovedOne) {
  const test::TempDir folder;
  const std::string path = folder / "checkpoint";
  auto first = std::make_unique<FolderLock>(path);
  std::unique_ptr<FolderLock> second;
  std::thread waiting([&] { second = std::make_unique<FolderLock>(path, std::chrono::minutes(1)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it holds the first folder open by now
  std::filesystem::remove(path);
  first.reset();
  waiting.join();
  EXPECT_TRUE(second->holds(path));
  EXPECT_THROW(FolderLock(path, std::chrono::milliseconds(50)), InputError);
}

}  // namespace
}  // namespace tributary
