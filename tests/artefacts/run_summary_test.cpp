#include "tributary/artefacts/run_summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace tributary {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RunSummary, FormatsTheSummary) {
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
  summary["accuracy"] = {{"last", 93.06}, {"rounds", {87.5, 90.1, 93.06}}};
  EXPECT_THAT(run_summary_text(summary), HasSubstr("accuracy     87.5 → 93.1 % in the last round\ntrusted"));
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("WARNING")));
  summary["accuracy"]["rounds"][0] = 93.08;
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("WARNING"))) << "less than is shown";
  summary["accuracy"]["rounds"][0] = 95.56;
  EXPECT_THAT(run_summary_text(summary),
              testing::EndsWith("\n\nWARNING      the adaptation lowered the accuracy by 2.5 points; try --keep "
                                "label-free, or use the sources as they are\n"));
  summary["skipped"] = 0;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("\n25,000 pictures, 2 rounds, 33 s\n"));
  summary["skipped"] = 1203;
  const std::string with_skipped = run_summary_text(summary);
  EXPECT_THAT(with_skipped, HasSubstr("\n25,000 pictures (1,203 more skipped), 2 rounds, 33 s\n"));
  summary.erase("skipped");
  summary["set_aside"] = 1203;
  EXPECT_EQ(run_summary_text(summary), with_skipped) << "the key of 0.1";
  summary["confident_rounds"] = nlohmann::json::array();
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("confident")));
}

TEST(RunSummary, NamesTheKeptRoundIfItIsNotTheLast) {
  nlohmann::json summary = {
      {"pictures", 4},
      {"rounds", 6},
      {"sources", nlohmann::json::array()},
      {"changed_share", 0},
      {"seconds", 1},
      {"model", "m"},
      {"predictions", "p"},
      {"accuracy",
       {{"last", 45.0}, {"rounds", {95.0, 97.1, 80.0, 45.0}}, {"kept", {{"round", 1}, {"accuracy", 97.1}}}}},
      {"kept", {{"round", 1}, {"reason", "round 3 was rejected: it is worse"}}},
      {"stopped", {{"round", 3}, {"reason", "the last two rounds were rejected"}}}};
  const std::string text = run_summary_text(summary);
  EXPECT_THAT(text, HasSubstr("accuracy     95.0 → 97.1 % in round 1, which was kept; 45.0 % in the last round\n"));
  EXPECT_THAT(text, HasSubstr("\nkept         round 1: round 3 was rejected: it is worse\n"
                              "stopped      after round 3: the last two rounds were rejected\nmodel"));
  summary["kept"]["round"] = 3;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("accuracy     95.0 → 45.0 % in the last round\n"));
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("\nkept")));
  summary["kept"]["judged"] = true;
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("\nkept")));
  summary["kept"] = {{"round", 3}, {"judged", false}, {"reason", "nobody can judge it"}};
  EXPECT_THAT(run_summary_text(summary), HasSubstr("\nkept         round 3: nobody can judge it\n"));
}

TEST(RunSummary, EndsWithAWarningAfterACollapse) {
  const nlohmann::json summary = {{"pictures", 4},
                                  {"rounds", 1},
                                  {"sources", nlohmann::json::array()},
                                  {"changed_share", 0},
                                  {"seconds", 1},
                                  {"model", "m"},
                                  {"predictions", "p"},
                                  {"collapse", {{"signs", {"one thing", "another"}}, {"unadapted_model", "u"}}}};
  EXPECT_THAT(run_summary_text(summary),
              ::testing::EndsWith("\nWARNING      this adaptation may have made things worse: one thing; another\n"
                                  "             compare it with the unadapted model, u\n"));
}

TEST(RunSummary, BeginsWithTheVerdict) {
  nlohmann::json summary = {
      {"pictures", 1250},
      {"rounds", 1},
      {"sources", nlohmann::json::array()},
      {"changed_share", 0},
      {"seconds", 1},
      {"model", "m"},
      {"predictions", "p"},
      {"verdict", {{"decision", "do not use"}, {"reasons", {"one thing", "another"}}, {"unadapted_model", "u"}}},
      {"estimate",
       {{"before", {{"accuracy", 80.4}, {"low", 71.2}, {"high", 88.0}}},
        {"after", {{"accuracy", 71.6}, {"low", 66.0}, {"high", 76.9}}}}},
      {"confidence", {{"calibrated", true}, {"check", 310}, {"accept_error", 2.0}}}};
  EXPECT_THAT(run_summary_text(summary),
              testing::AllOf(testing::StartsWith("verdict      do not use: one thing; another\n"
                                                 "estimated    80 % (71 to 88) → 72 % (66 to 77), without labels\n"
                                                 "check        310 of 1,250 pictures; of the others, about 2 % are "
                                                 "wrong\n"),
                             testing::EndsWith("\nWARNING      do not use this model; the unadapted one is probably "
                                               "better: u\n")));
  summary["confidence"]["check"] = 1250;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("\ncheck        all 1,250 pictures\n"));
  summary["estimate"]["after"] = nullptr;
  summary["confidence"]["calibrated"] = false;
  EXPECT_THAT(run_summary_text(summary), Not(testing::AnyOf(HasSubstr("estimated"), HasSubstr("check "))));
}

TEST(RunSummary, NamesTheSourcesWithTheLargestWeights) {
  nlohmann::json sources = nlohmann::json::array();
  for (int i = 0; i < 9; ++i) sources.push_back({{"name", fmt::format("s{}", i)}, {"weight", 0.1 * i / 3.6}});
  const nlohmann::json summary = {{"pictures", 4}, {"rounds", 1},  {"sources", sources}, {"changed_share", 0},
                                  {"seconds", 1},  {"model", "m"}, {"predictions", "p"}};
  EXPECT_THAT(run_summary_text(summary), HasSubstr("trusted      s8 22.2 %, s7 19.4 %"));
  EXPECT_THAT(run_summary_text(summary), HasSubstr("s3 8.3 %, 3 more\n"));
}

}  // namespace
}  // namespace tributary
