#include "tributary/base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/support/forked.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/process.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

using tributary::test::message_of;

class Files : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  // All paths in the folder, including temporary files.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      names.push_back(entry.path().lexically_relative(folder_.path()).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  tributary::test::TempDir folder_;
};

TEST_F(Files, RoundTrips) {
  std::vector<uint8_t> bytes(200'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31);
  write_file_atomically(at("a.bin"), bytes);
  EXPECT_EQ(read_file(at("a.bin")), bytes);
  write_file_atomically(at("a.bin"), "shorter now");
  EXPECT_EQ(read_text(at("a.bin")), "shorter now");
  write_file_atomically(at("a.bin"), "");
  EXPECT_EQ(read_file(at("a.bin")).size(), 0u);
  EXPECT_THAT(listing(), ::testing::ElementsAre("a.bin"));
}

TEST_F(Files, FifosAndDevicesAreNotRead) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  EXPECT_THAT(message_of<InputError>([&] { read_file(at("fifo")); }), HasSubstr("fifo is a device or a pipe"));
  EXPECT_THAT(message_of<InputError>([&] { read_text("/dev/zero"); }), HasSubstr("/dev/zero is a device or a pipe"));
  EXPECT_FALSE(open_regular(at("fifo")));
  EXPECT_FALSE(open_regular(at("missing")));
  write_file_atomically(at("file"), "x");
  EXPECT_TRUE(open_regular(at("file")));
}

TEST_F(Files, RemovesOnlyItsOwnNamesAndFollowsNoLink) {
  const auto is_own = [](const std::string& name) { return name == "own"; };
  folder_.write("kept/own", "x");
  folder_.write("kept/theirs", "x");
  fs::create_directory_symlink(at("kept"), at("link"));
  EXPECT_THAT(message_of<InputError>([&] { refuse_link(at("link")); }), HasSubstr("link is a link"));
  remove_own_files(at("link"), is_own);
  EXPECT_TRUE(fs::exists(at("kept/own")));
  remove_own_files(at("kept"), is_own);
  EXPECT_FALSE(fs::exists(at("kept/own")));
  EXPECT_TRUE(fs::exists(at("kept/theirs")));
  folder_.write("whole/own", "x");
  remove_own_files(at("whole"), is_own);
  EXPECT_FALSE(fs::exists(at("whole")));
}

TEST_F(Files, PendingFilesAppearWhenCommitted) {
  const std::vector<uint8_t> bytes{1, 2, 3};
  {
    PendingFile abandoned(at("a"));
    abandoned.append(bytes);
    abandoned.finish();
    EXPECT_FALSE(fs::exists(at("a")));
    EXPECT_EQ(listing().size(), 1u) << "written under a temporary name";
  }
  EXPECT_TRUE(listing().empty());
  PendingFile file(at("a"));
  file.append(bytes);
  PendingFile moved = std::move(file);
  moved.append(bytes);
  moved.commit();
  EXPECT_EQ(read_file(at("a")), (std::vector<uint8_t>{1, 2, 3, 1, 2, 3}));
  EXPECT_THAT(listing(), ::testing::ElementsAre("a"));
  EXPECT_THAT(message_of<InputError>([&] { PendingFile(at("nowhere/a")); }), HasSubstr("cannot write"));
}

TEST_F(Files, WritesChunksInOrder) {
  const std::vector<uint8_t> first{1, 2};
  const std::vector<uint8_t> last{3};
  const std::span<const uint8_t> chunks[] = {first, {}, last};
  write_file_atomically(at("a"), chunks);
  EXPECT_EQ(read_file(at("a")), (std::vector<uint8_t>{1, 2, 3}));
}

TEST_F(Files, ReadsFilesOfUnknownSize) {
  EXPECT_GT(read_text("/proc/self/status").size(), 100u);
}

TEST_F(Files, UnreadablePathsAreInputErrors) {
  EXPECT_THAT(message_of<InputError>([&] { read_file(at("none")); }),
              AllOf(HasSubstr(at("none")), HasSubstr("no such file")));
  EXPECT_THAT(message_of<InputError>([&] { read_text(folder_.path()); }), HasSubstr("is a folder"));
  write_file_atomically(at("file"), "x");
  EXPECT_THAT(message_of<InputError>([&] { read_file(at("file/below")); }), HasSubstr("Not a directory"));
}

TEST_F(Files, UnwritablePathsAreInputErrors) {
  write_file_atomically(at("file"), "x");
  EXPECT_THAT(message_of<InputError>([&] { write_file_atomically(at("file/below"), "y"); }),
              AllOf(HasSubstr("cannot write " + at("file/below")), HasSubstr("choose another path")));
  EXPECT_THAT(message_of<InputError>([&] { write_file_atomically(at("no/folder"), "y"); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of<InputError>([&] { write_file_atomically(folder_.path(), "y"); }), HasSubstr("Is a directory"));
  EXPECT_THAT(message_of<InputError>([&] { write_file_atomically("", "y"); }), HasSubstr("cannot write"));
  EXPECT_THAT(message_of<InputError>([&] { write_file_atomically(at(std::string(300, 'n')), "y"); }),
              HasSubstr("too long"));
  EXPECT_THAT(listing(), ::testing::ElementsAre("file"));
}

TEST_F(Files, WritesNamesOfMaximumLength) {
  const std::string name(255, 'n');
  write_file_atomically(at(name), "x");
  require_writable_target(at(name));
  EXPECT_THAT(listing(), ::testing::ElementsAre(name));
}

TEST_F(Files, AFullDiskIsAWorkError) {
  EXPECT_THAT(message_of<WorkError>([] { write_file_atomically("/dev/full", "x"); }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  EXPECT_TRUE(fs::is_character_file("/dev/full")) << "a device must not be replaced by a file";
}

TEST_F(Files, FailedWritesKeepTheOldContent) {
  write_file_atomically(at("a"), "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT(message_of<WorkError>([&] { write_file_atomically(at("a"), std::string(10'000, 'x')); }),
              HasSubstr("File too large"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_text(at("a")), "old");
  EXPECT_THAT(listing(), ::testing::ElementsAre("a"));
}

TEST_F(Files, KeepsLinksAndPermissions) {
  fs::create_directory(at("disk"));
  write_file_atomically(at("disk/real"), "old");
  ::chmod(at("disk/real").c_str(), 0640);
  fs::create_symlink(at("disk/real"), at("link"));
  write_file_atomically(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_text(at("disk/real")), "new");
  EXPECT_EQ(fs::status(at("disk/real")).permissions(), fs::perms(0640));
}

TEST_F(Files, ReadersNeverSeePartialFiles) {
  const std::string a(300'000, 'a');
  const std::string b(200'000, 'b');
  write_file_atomically(at("f"), a);
  std::thread writer([&] {
    for (int i = 0; i < 30; ++i) write_file_atomically(at("f"), i % 2 == 0 ? b : a);
  });
  for (int i = 0; i < 30; ++i) {
    const std::string seen = read_text(at("f"));
    EXPECT_TRUE(seen == a || seen == b);
  }
  writer.join();
}

TEST_F(Files, MakeFolderCreatesParents) {
  make_folder(at("a/b/c"));
  make_folder(at("a/b/c"));
  EXPECT_TRUE(fs::is_directory(at("a/b/c")));
  write_file_atomically(at("file"), "x");
  EXPECT_THAT(message_of<InputError>([&] { make_folder(at("file")); }),
              HasSubstr("cannot create the folder " + at("file")));
  EXPECT_THAT(message_of<InputError>([&] { make_folder(at("file/below")); }), HasSubstr("choose another path"));
  EXPECT_THAT(message_of<InputError>([&] { make_folder(""); }), HasSubstr("empty"));
}

TEST_F(Files, CheckingATargetLeavesNothing) {
  write_file_atomically(at("file"), "x");
  fs::create_directory(at("folder"));
  require_writable_target(at("file"));
  require_writable_target(at("folder"));
  require_writable_target(at("new.csv"));
  require_writable_target(at("new/"));
  require_writable_target(at("new/run/7"));
  require_writable_target(at("folder/../other/x"));
  require_writable_target("/dev/null");
  EXPECT_THAT(listing(), ::testing::ElementsAre("file", "folder"));
  EXPECT_EQ(read_text(at("file")), "x");
}

TEST_F(Files, RejectsTargetsThatCannotBeCreated) {
  write_file_atomically(at("file"), "x");
  for (const std::string& path : {at("file/below"), at("file/below/deep"), at(std::string(300, 'n')), std::string()})
    EXPECT_THROW(require_writable_target(path), InputError) << path;
  EXPECT_THAT(message_of<InputError>([] { require_writable_target("/proc/tributary/run"); }),
              HasSubstr("cannot write"));
  EXPECT_THAT(listing(), ::testing::ElementsAre("file"));
}

TEST_F(Files, RelativeTargetsUseTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  require_writable_target("runs/demo");
  require_writable_target("demo");
  write_file_atomically("demo", "x");
  fs::current_path(before);
  EXPECT_THAT(listing(), ::testing::ElementsAre("demo"));
}

std::string dead_process() {
  return run_process({"sh", "-c", "printf $$"}).out;
}

TEST_F(Files, RemovesLeftoversOfDeadProcesses) {
  const std::string dead = dead_process(), living = std::to_string(getppid());
  for (const std::string& name : {".tributary-" + dead + "-3.tmp", ".tributary-" + living + "-3.tmp",
                                  std::string(".tributary-x.tmp"), std::string("other.tmp")})
    folder_.write(name, "half");
  PendingFile own(at("own"));
  const auto before = listing();
  ASSERT_EQ(before.size(), 5u);
  remove_leftovers(folder_.path());
  EXPECT_THAT(listing(), ::testing::UnorderedElementsAre(".tributary-" + living + "-3.tmp", ".tributary-x.tmp",
                                                         "other.tmp", HasSubstr(std::to_string(getpid()))));
  own.append(bytes_of("whole"));
  own.finish();
  remove_leftovers(folder_.path());
  own.commit();
  EXPECT_EQ(read_text(at("own")), "whole");
  remove_leftovers(at("missing"));
}

// As in a container, where every process has the ID 1.
TEST_F(Files, RemovesLeftoversOfAnEarlierProcessWithTheSameId) {
  const std::string earlier = ".tributary-" + std::to_string(getpid());
  folder_.write(earlier + "-999999.tmp", "half");
  folder_.write(earlier + "-999998.tmp/part", "half");
  remove_leftovers(folder_.path());
  EXPECT_THAT(listing(), ::testing::IsEmpty());
}

// As on another machine, whose processes have IDs that mean nothing here.
TEST_F(Files, LockedFilesAreNoLeftovers) {
  const std::string file = folder_.write(".tributary-" + dead_process() + "-3.tmp", "half");
  const int locked = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(locked, LOCK_EX), 0);
  remove_leftovers(folder_.path());
  EXPECT_TRUE(fs::exists(file));
  ::close(locked);
  remove_leftovers(folder_.path());
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Files, LeftoversAreRemovedWithoutFollowingLinks) {
  const std::string leftover = ".tributary-" + dead_process() + "-3.tmp";
  folder_.write("kept/inside", "x");
  folder_.write("kept/" + leftover, "x");
  folder_.write("table/run/" + leftover, "x");
  fs::create_directory_symlink(at("kept"), at("table/" + leftover));
  fs::create_directory_symlink(at("kept"), at("table/link"));
  fs::create_directory_symlink(at("kept"), at("link"));
  remove_leftovers_below(at("link"));
  remove_leftovers_below(at("table"));
  EXPECT_THAT(listing(), ::testing::ElementsAre("kept", "kept/" + leftover, "kept/inside", "link", "table",
                                                "table/link", "table/run"));
}

// A process that is killed while another one works leaves its file to that one.
TEST_F(Files, RemovesLeftoversWhereItHasWritten) {
  test::Forked other([&](const std::function<void()>& ready) {
    std::vector<PendingFile> pending;
    for (const char* folder : {"shared", "elsewhere"}) pending.emplace_back(folder_.folder(folder) + "/table");
    ready();
    ::pause();
    return 0;
  });
  ASSERT_TRUE(other.wait_until_ready());
  require_writable_file(at("shared/table"));
  EXPECT_EQ(listing().size(), 4u) << "the other process lives";
  EXPECT_EQ(other.finish(SIGKILL), 128 + SIGKILL);
  write_file_atomically(at("shared/table"), "whole");
  remove_leftovers_where_written();
  EXPECT_THAT(listing(),
              ::testing::ElementsAre("elsewhere", HasSubstr("elsewhere/.tributary-"), "shared", "shared/table"));
}

TEST_F(Files, RemovesLeftoversOfZombies) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t how = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &how, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(kill(ended, 0), 0) << "its process ID must still be in use";
  folder_.write(".tributary-" + std::to_string(ended) + "-3.tmp", "half");
  remove_leftovers(folder_.path());
  EXPECT_THAT(listing(), ::testing::IsEmpty());
  ASSERT_EQ(waitpid(ended, nullptr, 0), ended);
}

}  // namespace
}  // namespace tributary
