#include "tributary/terminal/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tributary/base/text.h"

namespace tributary {
namespace {

const std::string kErase = "\r\x1b[K";

struct Screen {
  std::ostringstream out;
  double now = 1000;
  Progress progress;

  Screen(bool is_terminal, bool quiet, int64_t columns = 100)
      : progress(out, is_terminal, quiet, columns, [this] { return now; }) {}

  // The output since the last call.
  std::string written() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

TEST(Progress, ShowsProgressAndRemainingTime) {
  Screen screen(true, false);
  screen.progress.update(0, "round  1/20", "confident 2,147 of 2,817");
  EXPECT_EQ(screen.written(), kErase + "round  1/20  ░░░░░░░░░░░░░░░░░░░░  confident 2,147 of 2,817");
  screen.now += 375;
  screen.progress.update(0.6, "round 12/20", "IM -2.81   3,412 pictures/s");
  EXPECT_EQ(screen.written(),
            kErase + "round 12/20  ████████████░░░░░░░░  IM -2.81   3,412 pictures/s   4 m 10 s left");
  screen.now += 250;
  screen.progress.update(1, "round 20/20", "IM -2.9");
  EXPECT_EQ(screen.written(), kErase + "round 20/20  ████████████████████  IM -2.9");
  screen.progress.finish();
  EXPECT_EQ(screen.written(), "\n");
  screen.progress.finish();
  EXPECT_EQ(screen.written(), "");
}

TEST(Progress, ResumedRunsDoNotCountEarlierWork) {
  Screen screen(true, false);
  screen.progress.update(0.5, "r", "");
  screen.now += 10;
  screen.written();
  screen.progress.update(0.6, "r", "");
  EXPECT_EQ(screen.written(), kErase + "r  ████████████░░░░░░░░   40 s left");
}

TEST(Progress, RedrawsAtMostTenTimesPerSecond) {
  Screen screen(true, false);
  screen.progress.update(0, "a", "");
  screen.written();
  for (int i = 0; i < 50; ++i) {
    screen.now += 0.001;
    screen.progress.update(0.5, "b", "");
  }
  EXPECT_EQ(screen.written(), "");
  screen.progress.update(1, "c", "");
  screen.progress.finish();
  EXPECT_EQ(screen.written(), kErase + "c  ████████████████████\n");
}

TEST(Progress, PermanentLinesReplaceTheBar) {
  Screen screen(true, false);
  screen.progress.update(0, "a", "");
  screen.written();
  screen.progress.line("skipped photos/1.jpg");
  EXPECT_EQ(screen.written(), kErase + "skipped photos/1.jpg\n");
  screen.progress.line("again");
  EXPECT_EQ(screen.written(), "again\n");
  screen.progress.update(0, "a", "");
  EXPECT_EQ(screen.written(), kErase + "a  ░░░░░░░░░░░░░░░░░░░░");
}

TEST(Progress, WritesOnlyLinesWithoutATerminal) {
  Screen screen(false, false);
  screen.progress.update(0.5, "a", "b");
  screen.progress.line("a line");
  screen.progress.finish();
  EXPECT_EQ(screen.written(), "a line\n");
}

TEST(Progress, WritesNothingInQuietMode) {
  for (const bool is_terminal : {true, false}) {
    Screen screen(is_terminal, true);
    screen.progress.update(0.5, "a", "b");
    screen.progress.line("c");
    screen.progress.finish();
    EXPECT_EQ(screen.written(), "");
  }
}

TEST(Progress, ShortensFactsBeforeTheRemainingTime) {
  Screen screen(true, false, 52);
  screen.progress.update(0, "round", "");
  screen.now += 10;
  screen.written();
  screen.progress.update(0.5, "round", "confident 2,359 of 2,817");
  EXPECT_EQ(screen.written(), kErase + "round  ██████████░░░░░░░░░░  confident…   10 s left");
  for (const int64_t columns : {1, 2, 10, 30}) {
    Screen tiny(true, false, columns);
    tiny.progress.update(0.5, "round", "confident 2,359 of 2,817");
    EXPECT_LT(display_width(tiny.written().substr(kErase.size())), columns);
  }
}

TEST(Progress, AcceptsFractionsOutOfRange) {
  Screen screen(true, false);
  for (const double share : {-1.0, 2.0, 0.0 / 0.0, 1.0 / 0.0}) {
    screen.now += 1;
    screen.progress.update(share, "a", "");
  }
  EXPECT_NE(screen.written(), "");
}

TEST(Progress, DestructorEndsTheLine) {
  std::ostringstream out;
  {
    Progress progress(out, true, false, 80);
    progress.update(0.25, "a", "");
  }
  EXPECT_EQ(out.str(), kErase + "a  █████░░░░░░░░░░░░░░░\n");
}

}  // namespace
}  // namespace tributary
