#include "tributary/artefacts/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>

#include "tests/support/event_records.h"
#include "tests/support/hex.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using test::hex;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(EventFile, WritesTheFormat) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1599759586);
  file.scalar("loss", 300, -2.5, 1599759590.25);
  // Length, checksum, event, checksum. The first record is from TensorBoard's tests; the checksums of the others were
  // computed independently.
  EXPECT_EQ(read_text(file.path()),
            hex("18 00 00 00 00 00 00 00 a3 7f 4b 22") +
                hex("09 00 00 80 38 99 d6 d7 41 1a 0d 62 72 61 69 6e 2e 45 76 65 6e 74 3a 32") + hex("12 4b 36 ab") +
                hex("0f 00 00 00 00 00 00 00 6d 53 2b 09") + hex("09 00 00 80 38 99 d6 d7 41 10 00 3a 02 08 01") +
                hex("56 21 a3 e1") +  //
                hex("1b 00 00 00 00 00 00 00 1a 0d 9e 13") +
                hex("09 00 00 90 39 99 d6 d7 41 10 ac 02 2a 0d 0a 0b 0a 04 6c 6f 73 73 15 00 00 20 c0") +
                hex("24 3a 2e 93"));
}

TEST(EventFile, NameContainsTheTimeWithTenDigits) {
  const test::TempDir folder;
  const auto name = [&](double time) {
    return std::filesystem::path(EventFile(folder.path(), time).path()).filename().string();
  };
  EXPECT_THAT(name(1599759586.9), StartsWith("events.out.tfevents.1599759586."));
  EXPECT_THAT(name(7), StartsWith("events.out.tfevents.0000000007."));
  EXPECT_GT(name(7).size(), std::string("events.out.tfevents.0000000007.").size());
}

TEST(EventFile, RoundTrips) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1000.5);
  const std::vector<int64_t> steps = {0, 1, 127, 128, 1'000'000'000'000, -1, INT64_MAX};
  for (const int64_t step : steps)
    file.scalar("curve/" + std::to_string(step), step, 0.1 * static_cast<double>(step % 1000), 2000.25);
  const auto events = test::read_events(read_text(file.path()));
  ASSERT_EQ(events.size(), 2 + steps.size());
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1000.5);
  EXPECT_TRUE(events[1].is_start);
  for (size_t i = 0; i < steps.size(); ++i) {
    const test::EventRecord& event = events[2 + i];
    EXPECT_EQ(event.step, steps[i]);
    EXPECT_EQ(event.tag, "curve/" + std::to_string(steps[i]));
    EXPECT_EQ(event.value, static_cast<float>(0.1 * static_cast<double>(steps[i] % 1000)));
    EXPECT_EQ(event.wall_time, 2000.25);
  }
}

TEST(EventFile, FlushesEveryPoint) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1);
  for (size_t count = 2; count < 10; ++count) {
    EXPECT_EQ(test::read_events(read_text(file.path())).size(), count);
    file.scalar("a", 1, 1, 1);
  }
}

TEST(EventFile, TruncatedFilesHaveCompleteRecords) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1);
  std::vector<size_t> ends = {40, 71};  // of the first two records
  for (int i = 0; i < 3; ++i) {
    file.scalar(std::string(static_cast<size_t>(100 * i + 1), 'x'), i, i, 1);
    ends.push_back(read_text(file.path()).size());
  }
  const std::string whole = read_text(file.path());
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto expected = std::count_if(ends.begin(), ends.end(), [size](size_t end) { return end <= size; });
    EXPECT_EQ(test::read_events(whole.substr(0, size)).size(), static_cast<size_t>(expected)) << size;
  }
}

TEST(EventFile, KeepsUtf8Tags) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1);
  const std::vector<std::string> tags = {"losses/cross_entropy/größe 写真 📷",
                                         "a b",
                                         "//",
                                         "100 %s {} \\ \"q\" <b>",
                                         "line\nbreak\ttab",
                                         std::string("\0", 1),
                                         std::string(100'000, 'x')};
  for (const std::string& tag : tags) file.scalar(tag, 1, 1, 1);
  const auto events = test::read_events(read_text(file.path()));
  ASSERT_EQ(events.size(), 2 + tags.size());
  for (size_t i = 0; i < tags.size(); ++i) EXPECT_EQ(events[2 + i].tag, tags[i]);
}

TEST(EventFile, ReplacesInvalidUtf8) {
  // One invalid byte would make readers reject the whole file.
  const test::TempDir folder;
  EventFile file(folder.path(), 1);
  file.scalar(
      "gr\xf6\xdf"
      "e/写",
      1, 1, 1);
  file.scalar(std::string(200, '\xff') + "z", 1, 1, 1);
  const auto events = test::read_events(read_text(file.path()));
  EXPECT_EQ(events[2].tag, "gr??e/写");
  EXPECT_EQ(events[3].tag, std::string(200, '?') + "z");
  EXPECT_THROW(file.scalar("", 1, 1, 1), std::logic_error);
}

TEST(EventFile, KeepsNonFiniteValues) {
  const test::TempDir folder;
  EventFile file(folder.path(), 1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), kInfinity, -kInfinity, 1e300, -1e300, 1e-300, -0.0})
    file.scalar("a", 1, value, 1);
  const auto events = test::read_events(read_text(file.path()));
  ASSERT_EQ(events.size(), 9);
  EXPECT_TRUE(std::isnan(events[2].value));
  EXPECT_EQ(events[3].value, kInfinity);
  EXPECT_EQ(events[4].value, -kInfinity);
  EXPECT_EQ(events[5].value, kInfinity);
  EXPECT_EQ(events[6].value, -kInfinity);
  EXPECT_EQ(events[7].value, 0);
  EXPECT_TRUE(std::signbit(events[8].value));
}

TEST(EventFile, RejectsMissingFolders) {
  const test::TempDir folder;
  EXPECT_THAT(test::message_of<WorkError>([&] { EventFile(folder / "missing", 1); }),
              AllOf(StartsWith("cannot create " + folder.path() + "/missing/events.out.tfevents.0000000001."),
                    HasSubstr(": No such file or directory; check its folder"), Not(HasSubstr("\n"))));
  folder.write("file", "");
  EXPECT_THAT(test::message_of<WorkError>([&] { EventFile(folder / "file", 1); }), HasSubstr(": Not a directory; "));
}

TEST(EventFile, ReportsAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const test::TempDir folder;
  const std::string path = EventFile(folder.path(), 1).path();
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/full", path);
  EXPECT_EQ(test::message_of<WorkError>([&] { EventFile(folder.path(), 1); }),
            "cannot write " + path + ": No space left on device; free some space and run the same command again");
}

// Limits the file size of this process during its lifetime.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(EventFile, KeepsCompleteRecordsWhenTheDiskFillsUp) {
  const test::TempDir folder;
  std::string message, left;
  {
    EventFile file(folder.path(), 1);
    file.scalar("first", 1, 1, 1);
    const SizeLimit limit(read_text(file.path()).size() + 20);
    message = test::message_of<WorkError>([&] { file.scalar("second", 2, 2, 2); });
    left = read_text(file.path());
  }
  EXPECT_THAT(message,
              AllOf(StartsWith("cannot write " + folder.path()), HasSubstr(": File too large; free some space")));
  const auto events = test::read_events(left);
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(events[2].tag, "first");
}

TEST(EventFile, ARestartedRunReplacesEarlierCurves) {
  const test::TempDir folder;
  EventFile(folder.path(), 1).scalar("a", 5, 1, 1);
  const EventFile again(folder.path(), 2);
  const auto events = test::read_events(read_text(again.path()));
  ASSERT_EQ(events.size(), 2);
  EXPECT_TRUE(events[1].is_start);
  EXPECT_EQ(events[1].step, 0);
}

}  // namespace
}  // namespace tributary
