#include "tributary/artefacts/run_summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace tributary {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  summary["set_aside"] = 0;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("\n25,000 pictures, 2 rounds, 33 s\n"));
  summary["set_aside"] = 1203;
  EXPECT_THAT(run_summary_text(summary), HasSubstr("\n25,000 pictures (1,203 more skipped), 2 rounds, 33 s\n"));
  summary["confident_rounds"] = nlohmann::json::array();
  EXPECT_THAT(run_summary_text(summary), Not(HasSubstr("confident")));
}

TEST(RunSummary, EndsWithAWarningWhereTheGuardSpoke) {
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
                                  "             compare it with what it began with, u\n"));
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
