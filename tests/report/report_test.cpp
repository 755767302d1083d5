#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/report/figure.h"
#include "tributary/report/report_page.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Six pictures of two classes; the mixture says 1 wrongly about the last two at the start, and about none in the end.
History small_history() {
  History history;
  history.classes = {"cat", "dog"};
  history.sources = {"a", "b"};
  history.device = "cpu";
  for (int64_t r = 0; r < 3; ++r) {
    RoundHistory round;
    round.round = r;
    round.label = test::indices({0, 0, 1, 1, r == 2 ? 0 : 1, r == 2 ? 0 : 1});
    round.pseudo_label = test::indices({0, 0, 1, 1, r == 0 ? 1 : 0, 1});
    round.confidence = torch::tensor({0.9F, 0.8F, 0.7F, 0.6F, 0.5F, 0.95F});
    if (r > 0) round.confident = torch::tensor({true, true, true, true, r > 1, false});
    round.source_label = torch::stack({round.label, 1 - round.label});
    round.sample = torch::arange(6);
    round.features = test::normals({6, 4}, static_cast<uint64_t>(r));
    history.rounds.push_back(round);
  }
  return history;
}

const Tensor kTruth = test::indices({0, 0, 1, 1, 0, 0});

TEST(ReportRounds, ComparePseudoLabelsOfTheRoundBeforeWithTheTruth) {
  const History history = small_history();
  const std::vector<nlohmann::json> metrics = {
      {{"round", 0}, {"seconds", 1.5}, {"weights", {0.5, 0.5}}, {"entropy", 0.3}},
      {{"round", 1}, {"confident", 4}, {"cross_entropy", {0.1, 0.2}}, {"adversarial", 0.7}, {"training_seconds", 2.0}},
      {{"round", 2}, {"confident", 5}}};
  const nlohmann::json rounds = report_rounds({history, kTruth}, metrics);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_NEAR(rounds[0]["accuracy"]["mixture"], 4.0 / 6, 1e-12);
  EXPECT_EQ(rounds[2]["accuracy"]["mixture"], 1.0);
  EXPECT_EQ(rounds[2]["accuracy"]["sources"], (std::vector<double>{1, 0}));
  EXPECT_TRUE(rounds[0]["accuracy"]["confident"].is_null());
  EXPECT_EQ(rounds[1]["accuracy"]["confident"], 1.0);
  EXPECT_EQ(rounds[1]["accuracy"]["unconfident"], 0.0) << "labels of round 0";
  EXPECT_EQ(rounds[2]["accuracy"]["confident"], 1.0) << "labels of round 1";
  EXPECT_EQ(rounds[2]["changed"], 2);
  EXPECT_TRUE(rounds[0]["changed"].is_null());
  EXPECT_EQ(rounds[1]["losses"], (nlohmann::json{{"cross_entropy", {0.1, 0.2}}, {"adversarial", {0.7}}}));
  EXPECT_EQ(rounds[1]["phases"]["training"], 2.0);
  EXPECT_TRUE(report_rounds({history, Tensor()}, metrics)[1]["accuracy"].is_null());
}

TEST(ReportClasses, CountWhatBecameOfWhat) {
  const History history = small_history();
  const nlohmann::json known = report_confusion({history, kTruth});
  EXPECT_EQ(known["before"], (nlohmann::json{{2, 2}, {0, 2}}));
  EXPECT_EQ(known["after"], (nlohmann::json{{4, 0}, {0, 2}}));
  const nlohmann::json unknown = report_confusion({history, Tensor()});
  EXPECT_EQ(unknown["after"], (nlohmann::json{{2, 0}, {2, 2}})) << "predicted before, predicted after";
  EXPECT_TRUE(unknown["before"].is_null());
  const nlohmann::json classes = report_classes({history, kTruth});
  EXPECT_EQ(classes[0]["before"], 2);
  EXPECT_EQ(classes[0]["after"], 4);
  EXPECT_EQ(classes[1]["recall"], 1.0);
  EXPECT_NEAR(classes[1]["confidence"], 0.65, 1e-6);
}

TEST(ReportGallery, ShowsTheExtremesAndTheChanged) {
  const History history = small_history();
  const nlohmann::json gallery = report_gallery({history, Tensor()}, test::noise_pictures(6), 3);
  const auto indices = [&](const char* kind) {
    std::vector<int64_t> all;
    for (const auto& entry : gallery[kind]) all.push_back(entry["index"]);
    return all;
  };
  EXPECT_EQ(indices("most_confident"), (std::vector<int64_t>{5, 0, 1}));
  EXPECT_EQ(indices("least_confident"), (std::vector<int64_t>{4, 3, 2}));
  EXPECT_EQ(indices("changed"), (std::vector<int64_t>{5, 4}));
  const nlohmann::json entry = gallery["changed"][0];
  EXPECT_EQ(entry["before"], 1);
  EXPECT_EQ(entry["prediction"], 0);
  EXPECT_EQ(entry["sources"], (std::vector<int64_t>{0, 1}));
  EXPECT_THAT(entry["thumb"].get<std::string>(), HasSubstr("data:image/png;base64,iVBOR"));
}

TEST(ReportEmbedding, HasTheChosenRoundsAndPoints) {
  const History history = small_history();
  ReportOptions options;
  options.embedded_rounds = 2;
  options.points = 4;
  const nlohmann::json embedding = report_embedding({history, kTruth}, options);
  EXPECT_EQ(embedding["sampled"], 4);
  EXPECT_EQ(embedding["of"], 6);
  ASSERT_EQ(embedding["rounds"].size(), 2u);
  EXPECT_EQ(embedding["rounds"][1]["round"], 2);
  EXPECT_EQ(embedding["rounds"][0]["xy"].get<std::string>().size(), (4 * 2 * 4 + 2) / 3 * 4);
  EXPECT_EQ(embedding["pictures"], "AAAAAAEAAAADAAAABAAAAA==") << "0, 1, 3 and 4 as little-endian words";
  EXPECT_FALSE(embedding.contains("full"));
  options.all_points = true;
  EXPECT_EQ(report_embedding({history, kTruth}, options)["full"]["sampled"], 6);
}

TEST(ReportPage, HoldsHostileNamesWithoutBreaking) {
  const std::string hostile = "</script><script>alert(1)</script><!--";
  const std::string page = report_page({{"schema", 1}, {"kind", "run"}, {"name", hostile}, {"note", "\xff"}});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
  EXPECT_THAT(page, HasSubstr("&lt;/script>"));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
}

}  // namespace
}  // namespace tributary
