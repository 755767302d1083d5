#include <gmock/gmock.h>

#include <cmath>
#include <regex>
#include <set>

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

// Six pictures of two classes; the mixture misclassifies the last two as 1 at first, and none in the end.
History small_history() {
  History history;
  history.classes = {"cat", "dog"};
  history.sources = {"a", "b"};
  history.device = "cpu";
  history.joint_width = 8;
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

TEST(ReportRounds, ComparePseudoLabelsOfThePreviousRoundWithTheTruth) {
  const History history = small_history();
  const std::vector<nlohmann::json> metrics = {
      {{"round", 0}, {"seconds", 1.5}, {"weights", {0.5, 0.5}}, {"entropy", 0.3}, {"initial_confident", 3}},
      {{"round", 1},
       {"confident", 4},
       {"weights", {0.4, 0.6}},
       {"cross_entropy", {0.1, 0.2}},
       {"adversarial", 0.7},
       {"training_seconds", 2.0},
       {"waiting_seconds", 0.1},
       {"gpu_peak_bytes", 1000}},
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
  EXPECT_EQ(rounds[0]["confident"], 3) << "as on the terminal";
  EXPECT_EQ(rounds[1]["confident"], 4);
  EXPECT_EQ(rounds[1]["phases"]["training"], 2.0);
  EXPECT_TRUE(report_rounds({history, Tensor()}, metrics)[1]["accuracy"].is_null());
}

TEST(ReportBound, UsesTheLabelsThatARoundWasTrainedOn) {
  const ReportBound bound = report_bound({small_history(), kTruth});
  ASSERT_EQ(bound.rounds.size(), 3u);
  EXPECT_TRUE(bound.rounds[0].is_null()) << "before any training there is no confident set";
  const nlohmann::json& first = bound.rounds[1];
  EXPECT_EQ(first["source_disagreement"], 0.5) << "source b always disagrees";
  EXPECT_EQ(first["criteria_disagreement"], 0.0);
  EXPECT_NEAR(first["mismatch"], -std::log(0.75), 1e-12);
  EXPECT_EQ(first["label_error"], 0.0);
  EXPECT_EQ(first["mismatch_exact"], 0.0);
  EXPECT_TRUE(first["misalignment"].is_null()) << "six pictures are too few";
  EXPECT_TRUE(first["misalignment_sources"].is_null());
  EXPECT_NEAR(first["misalignment_cap"], std::log(1.5), 1e-12);
  EXPECT_NEAR(first["bias"], std::sqrt(std::log(2.0) / 2), 1e-12)
      << "-ln 0.75 + ln 1.5, with the cap for the misalignment";
  EXPECT_NEAR(first["variance"], std::sqrt((2 * 8 * std::log(2.0) + std::log(20.0)) / 4), 1e-12);
  const nlohmann::json& second = bound.rounds[2];
  EXPECT_NEAR(second["criteria_disagreement"], 1.0 / 5, 1e-12) << "picture 4 in round 1";
  EXPECT_NEAR(second["mismatch"], -std::log(1 - (0.5 + 0.2) / 2), 1e-12);
}

TEST(ReportBound, IsNullIfUnknown) {
  History history = small_history();
  const nlohmann::json unlabelled = report_bound({history, Tensor()}).rounds[1];
  EXPECT_TRUE(unlabelled["mismatch_exact"].is_null());
  EXPECT_TRUE(unlabelled["sum_exact"].is_null());
  EXPECT_TRUE(unlabelled["label_error"].is_null());
  for (RoundHistory& round : history.rounds) round.pseudo_label = Tensor();
  EXPECT_TRUE(report_bound({history, kTruth}).rounds[1].is_null()) << "a method without pseudo-labels";
  history = small_history();
  history.joint_width = 0;
  EXPECT_TRUE(report_bound({history, kTruth}).rounds[1].is_null()) << "a history without the joint width";
  EXPECT_TRUE(report_bound({history, kTruth}).notes.empty());
}

TEST(ReportBound, EstimatesMisalignmentOnTheSample) {
  // 600 pictures. Every second one has features, in the last round all of them. The confident set is a half-space, so
  // the divergence is its cap.
  History history = small_history();
  const Tensor features = test::normals({600, 4}, 7);
  for (RoundHistory& round : history.rounds) {
    const bool last = round.round == 2;
    round.label = torch::arange(600) % 2;
    round.pseudo_label = round.label;
    round.source_label = torch::stack({round.label, round.label});
    round.confident = features.select(1, 0) > -0.4;
    round.sample = last ? torch::arange(600) : torch::arange(0, 600, 2);
    round.features = features.index_select(0, round.sample);
    round.source_features = {round.features.narrow(1, 0, 2), round.features.narrow(1, 2, 2)};
  }
  const ReportBound bound = report_bound({history, Tensor()});
  const nlohmann::json& terms = bound.rounds[1];
  const double cap = terms["misalignment_cap"], joint = terms["misalignment"],
               per_source = terms["misalignment_sources"];
  EXPECT_GT(joint, 0.8 * cap);
  EXPECT_NEAR(per_source, joint / 2, 0.1 * cap) << "the second source does not see the selection";
  EXPECT_EQ(bound.rounds[2], terms) << "the same pictures, although more are stored";
  EXPECT_THAT(bound.notes.back(), HasSubstr("from 300 of 600 pictures"));
  EXPECT_THAT(bound.notes.back(), HasSubstr("4 principal components of the joint space and 2 per source"));
}

TEST(ReportBound, MatchesTheSchemaOfThePage) {
  const std::string schema = read_text(std::string(TRIBUTARY_SOURCE_DIR) + "/web/modules/schema.js");
  const size_t begin = schema.find("@typedef {object} Bound\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string bound_schema = schema.substr(begin, schema.find("*/", begin) - begin);
  std::set<std::string> known, sent;
  const std::regex property("@property \\{[^}]*\\} \\[?([a-z_]+)");
  for (std::sregex_iterator at(bound_schema.begin(), bound_schema.end(), property), end; at != end; ++at)
    known.insert((*at)[1]);
  const nlohmann::json terms = report_bound({small_history(), kTruth}).rounds[1];
  for (const auto& [name, value] : terms.items()) sent.insert(name);
  EXPECT_EQ(known, sent);
}

TEST(ReportBound, IsLoggedWithTheErrorIfLabelsAreKnown) {
  const nlohmann::json data = {{"rounds",
                                {{{"round", 0}, {"bound", nullptr}, {"accuracy", {{"mixture", 0.5}}}},
                                 {{"round", 1}, {"bound", {{"sum", 2.0}}}, {"accuracy", {{"mixture", 0.75}}}},
                                 {{"round", 2}, {"bound", {{"sum", 1.5}}}, {"accuracy", nullptr}}}}};
  const std::vector<nlohmann::json> log = bound_log(data);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0], (nlohmann::json{{"round", 1}, {"sum", 2.0}, {"error", 0.25}}));
  EXPECT_EQ(log[1], (nlohmann::json{{"round", 2}, {"sum", 1.5}}));
}

TEST(ReportClasses, CountConfusionsBeforeAndAfter) {
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

TEST(ReportClasses, KeepTheConfusionOfManyClassesSmall) {
  constexpr int64_t kClasses = 3000, kSwapped = 2900;
  History history;
  for (int64_t k = 0; k < kClasses; ++k) history.classes.push_back(std::to_string(k));
  RoundHistory round;
  round.label = torch::arange(kClasses);
  history.rounds = {round, round};
  history.rounds[1].label = round.label.clone();
  history.rounds[1].label[kSwapped] = 7;
  const nlohmann::json confusion = report_confusion({history, Tensor()});
  EXPECT_EQ(confusion["names"].size(), 401u);
  EXPECT_EQ(confusion["names"].back(), "2600 other classes");
  EXPECT_THAT(confusion["names"].get<std::vector<std::string>>(), testing::Contains("2900"));
  EXPECT_EQ(confusion["changed"], 1);
  int64_t sum = 0;
  for (const auto& row : confusion["after"])
    for (const auto& cell : row) sum += cell.get<int64_t>();
  EXPECT_EQ(sum, kClasses) << "the cells sum to all pictures";
}

TEST(ReportGallery, ShowsExtremesAndChangedPictures) {
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

TEST(ReportPage, EscapesHostileNames) {
  const std::string hostile = "</script><script>alert(1)</script><!--";
  const std::string page = report_page({{"schema", 1}, {"kind", "run"}, {"name", hostile}, {"note", "\xff"}});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
  EXPECT_THAT(page, HasSubstr("&lt;/script>"));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  const std::string marked = report_page({{"schema", 1}, {"kind", "run"}, {"name", "@DATA@x"}});
  EXPECT_THAT(marked, HasSubstr("<title>@DATA@x"));
  EXPECT_THAT(marked, HasSubstr("\"name\":\"@DATA@x\""));
}

}  // namespace
}  // namespace tributary
