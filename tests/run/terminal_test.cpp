// Terminal output of a run: the table of rounds and the sparkline.
#include <gmock/gmock.h>

#include <sstream>

#include "tributary/run/observers.h"
#include "tributary/run/round_table.h"
#include "tributary/terminal/sparkline.h"

namespace tributary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Four pictures of two classes; the first ones have class 1.
Tensor predictions(int64_t ones) {
  const Tensor is_one = torch::arange(4) < ones;
  return torch::stack({is_one.logical_not(), is_one}, 1).to(torch::kFloat32);
}

RoundEvent start() {
  RoundEvent event;
  event.rounds = 2;
  event.probabilities = predictions(0);
  event.score = event.probabilities;
  event.initial_confident = 2;
  event.seconds = 3;
  return event;
}

RoundEvent round_one(const Selection& selection) {
  RoundEvent event = start();
  event.round = 1;
  event.probabilities = predictions(1);
  event.trained = &selection;
  event.losses = {{1, 1.5}, {-2, -1}, 0.5, 1.25, true};
  event.pictures = 6000;
  event.phases.training = 2;
  event.seconds = 250;
  return event;
}

TEST(Sparkline, ScalesFromMinimumToMaximum) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({30, 10, 20}), "█▁▅");
  EXPECT_EQ(sparkline({5, 5}), "▄▄");
  EXPECT_EQ(sparkline({7}), "▄");
  EXPECT_EQ(sparkline({}), "");
}

TEST(Sparkline, SubsamplesManyValues) {
  std::vector<double> values(100, 1);
  values.front() = 0;
  values.back() = 2;
  EXPECT_EQ(sparkline(values, 5), "▁▅▅▅█");
}

TEST(RoundTable, AddsOneLinePerRound) {
  RoundTable table;
  EXPECT_THAT(table.add(start()),
              ElementsAre("round  confident    share     CE     IM  align  changed  pictures/s      time",
                          "    0          2   50.0 %                                                 3 s"));
  Selection selection;
  selection.confident = torch::arange(3);
  EXPECT_THAT(table.add(round_one(selection)),
              ElementsAre("    1          3   75.0 %   1.25  -1.50   0.50   25.0 %       3,000  4 m 10 s"));
}

TEST(RoundTable, ShowsTheAccuracyIfThereAreLabels) {
  RoundTable table;
  EXPECT_THAT(table.add(start(), 0.6125),
              ElementsAre("round  confident    share     CE     IM  align  changed  accuracy  pictures/s      time",
                          "    0          2   50.0 %                                  61.3 %                   3 s"));
}

TEST(RoundTable, TellsOnceWhyNothingWasAligned) {
  RoundTable table;
  table.add(start());
  Selection selection;
  selection.confident = torch::arange(3);
  selection.unconfident = torch::arange(3, 4);
  RoundEvent event = round_one(selection);
  event.losses.aligned = false;
  EXPECT_THAT(table.add(event),
              ElementsAre("    1          3   75.0 %   1.25  -1.50      -   25.0 %       3,000  4 m 10 s",
                          "       align is -: too few unconfident pictures for a batch (1)"));
  EXPECT_THAT(table.add(event),
              ElementsAre("    1          3   75.0 %   1.25  -1.50      -    0.0 %       3,000  4 m 10 s"));
}

TEST(RoundTable, HasNoColumnForAlignmentIfItIsOff) {
  RoundTable table;
  RoundEvent event = start();
  event.alignment = false;
  EXPECT_THAT(table.add(event), ElementsAre("round  confident    share     CE     IM  changed  pictures/s      time",
                                            "    0          2   50.0 %                                          3 s"));
}

TEST(RoundTable, ShowsTheLossesOfOtherMethods) {
  RoundTable table;
  RoundEvent event = start();
  event.score = Tensor();
  EXPECT_THAT(table.add(event), IsEmpty());
  event.round = 1;
  event.means = {{"diversity", {0.25, 0.75}}};
  event.pictures = 10;
  event.phases.training = 1;
  EXPECT_THAT(table.add(event), ElementsAre("round  diversity  changed  pictures/s      time",
                                            "    1       0.50    0.0 %          10       3 s"));
}

TEST(ProgressObserver, ShowsTheTableAndTheConfidentSet) {
  std::ostringstream out;
  Progress progress(out, true, false, 100, [] { return 0.0; });
  ProgressObserver shown(progress);
  shown.on_round(start());
  Selection selection;
  selection.confident = torch::arange(3);
  shown.on_round(round_one(selection));
  shown.on_step({2, 2, 1, 2});
  EXPECT_THAT(out.str(), HasSubstr("25.0 %       3,000  4 m 10 s\n"));
  EXPECT_THAT(out.str(), HasSubstr("round 2/2  ███████████████░░░░░  confident ▁█ 3 of 4 pictures"));
}

}  // namespace
}  // namespace tributary
