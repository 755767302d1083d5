// What a run shows on a terminal: the table of rounds, the sparkline and the summary.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tributary/report/observers.h"
#include "tributary/report/round_table.h"
#include "tributary/report/run_summary.h"
#include "tributary/report/sparkline.h"

namespace tributary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Four pictures of two classes, the first of which are of class 1.
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

TEST(Sparkline, RunsFromTheLeastToTheGreatest) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({30, 10, 20}), "█▁▅");
  EXPECT_EQ(sparkline({5, 5}), "▄▄");
  EXPECT_EQ(sparkline({7}), "▄");
  EXPECT_EQ(sparkline({}), "");
}

TEST(Sparkline, OfManyValuesShowsSomeAndBothEnds) {
  std::vector<double> values(100, 1);
  values.front() = 0;
  values.back() = 2;
  EXPECT_EQ(sparkline(values, 5), "▁▅▅▅█");
}

TEST(RoundTable, GrowsByALineARound) {
  RoundTable table;
  EXPECT_THAT(table.add(start()),
              ElementsAre("round  confident    share     CE     IM  align  changed  pictures/s      time",
                          "    0          2   50.0 %                                                 3 s"));
  Selection selection;
  selection.confident = torch::arange(3);
  EXPECT_THAT(table.add(round_one(selection)),
              ElementsAre("    1          3   75.0 %   1.25  -1.50   0.50   25.0 %       3,000  4 m 10 s"));
}

TEST(RoundTable, OfAnotherMethodHasItsOwnLosses) {
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

TEST(ProgressObserver, ShowsTheTableAndBelowItTheConfidentSet) {
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

TEST(RunSummary, SaysWhatMatters) {
  nlohmann::json summary = {{"pictures", 25000},
                            {"rounds", 2},
                            {"sources", {{{"name", "usps"}, {"weight", 0.25}}, {{"name", "syn"}, {"weight", 0.75}}}},
                            {"confident_rounds", {21245, 23000, 25000}},
                            {"changed_share", 0.171},
                            {"seconds", 33},
                            {"model", "runs/svhn/model.safetensors"},
                            {"predictions", "runs/svhn/predictions.csv"}};
  EXPECT_EQ(run_summary_text(summary),
            "trusted      syn 75.0 %, usps 25.0 %\n"
            "confident    ▁▄█  21,245 at the start, 25,000 in the end, of 25,000\n"
            "changed      17.1 % of the predictions since the start\n"
            "\n"
            "25,000 pictures, 2 rounds, 33 s\n"
            "model        runs/svhn/model.safetensors\n"
            "predictions  runs/svhn/predictions.csv\n");
  summary["accuracy"]["last"] = 93.06;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("accuracy     93.1 % in the last round\ntrusted"));
  summary["confident_rounds"] = nlohmann::json::array();
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("confident")));
}

TEST(RunSummary, OfManySourcesNamesTheHeaviest) {
  nlohmann::json sources = nlohmann::json::array();
  for (int i = 0; i < 9; ++i) sources.push_back({{"name", fmt::format("s{}", i)}, {"weight", 0.1 * i / 3.6}});
  const nlohmann::json summary = {{"pictures", 4}, {"rounds", 1},  {"sources", sources}, {"changed_share", 0},
                                  {"seconds", 1},  {"model", "m"}, {"predictions", "p"}};
  EXPECT_THAT(run_summary_text(summary), HasSubstr("trusted      s8 22.2 %, s7 19.4 %"));
  EXPECT_THAT(run_summary_text(summary), HasSubstr("s3 8.3 %, 3 more\n"));
}

}  // namespace
}  // namespace tributary
