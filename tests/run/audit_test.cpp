#include "tributary/run/audit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tributary/base/error.h"
#include "tributary/estimate/proportion.h"
#include "tributary/run/label_requests.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kAudited = 40;

std::string audited_name(int64_t picture) {
  return "photos/" + std::to_string(picture) + ".jpg";
}

// Every picture is predicted "car".
std::vector<StoredPrediction> all_cars() {
  std::vector<StoredPrediction> all;
  for (int64_t i = 0; i < kAudited; ++i) all.push_back({audited_name(i), "car"});
  return all;
}

// An audit sample of `count` pictures, labelled "car" but for the first `wrong`.
std::vector<LabelRow> audit_rows(int64_t count, int64_t wrong, uint64_t seed = 3) {
  std::vector<LabelRow> rows;
  for (const int64_t picture : audit_sample(kAudited, count, seed)) {
    const auto line = static_cast<int64_t>(rows.size()) + 2;
    rows.push_back({audited_name(picture), line - 2 < wrong ? "lorry" : "car", seed, line});
  }
  return rows;
}

std::string audit_complaint(const std::vector<LabelRow>& rows) {
  try {
    audit_of(rows, "audit.csv", all_cars(), {"car"}, {});
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Audit, SamplesAreDifferentPicturesAndBeginnings) {
  const std::vector<int64_t> ten = audit_sample(kAudited, 10, 3), all = audit_sample(kAudited, 100, 3);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), size_t{kAudited});
  EXPECT_TRUE(std::equal(ten.begin(), ten.end(), all.begin())) << "a smaller sample begins a larger one";
  EXPECT_NE(audit_sample(kAudited, 10, 4), ten);
}

TEST(Audit, CountsWhatIsRight) {
  std::vector<LabelRow> rows = audit_rows(10, 3);
  rows.back().label = "";  // not labelled yet
  const AuditResult result = audit_of(rows, "audit.csv", all_cars(), {"car"}, {});
  EXPECT_EQ(result.drawn, 10);
  EXPECT_EQ(result.labelled, 9);
  EXPECT_EQ(result.right, 6);
}

TEST(Audit, PicturesThatTrainedDoNotCount) {
  const std::vector<LabelRow> rows = audit_rows(10, 3);
  const AuditResult result =
      audit_of(rows, "audit.csv", all_cars(), {"car"}, {rows[0].picture, rows[9].picture, "photos/99.jpg"});
  EXPECT_EQ(result.trained, 2);
  EXPECT_EQ(result.labelled, 8);
  EXPECT_EQ(result.right, 6);
}

TEST(Audit, RefusesBiasedSamples) {
  std::vector<LabelRow> rows = audit_rows(10, 3);
  rows[4].label = "";
  EXPECT_THAT(audit_complaint(rows),
              HasSubstr("has no label for " + rows[4].picture + ", which was drawn before others"));
  rows = audit_rows(10, 3);
  rows.erase(rows.begin() + 1);
  EXPECT_THAT(audit_complaint(rows), HasSubstr("biases the estimate"));
  rows = audit_rows(10, 3);
  rows[2].random_seed.reset();
  EXPECT_THAT(audit_complaint(rows),
              HasSubstr("audit.csv:4: " + rows[2].picture + " was not drawn at random with the others"));
  rows = audit_rows(10, 3);
  for (LabelRow& row : rows) row.random_seed = 4;
  EXPECT_THAT(audit_complaint(rows), HasSubstr("biases the estimate")) << "another seed draws other pictures";
  rows = audit_rows(10, 3);
  for (LabelRow& row : rows) row.label = "";
  EXPECT_THAT(audit_complaint(rows), HasSubstr("has no label"));
  EXPECT_THAT(audit_complaint({}), HasSubstr("has no pictures"));
}

TEST(Audit, RefusesAMistypedClassButCountsOthersAsWrong) {
  std::vector<LabelRow> rows = audit_rows(10, 0);
  rows[4].label = "caar";
  EXPECT_THAT(audit_complaint(rows), HasSubstr("audit.csv:6: caar is not a class of the model; did you mean car?"));
  rows[4].label = "nothing that the model knows";
  EXPECT_EQ(audit_of(rows, "audit.csv", all_cars(), {"car"}, {}).right, 9);
}

// 200 audits of a run that is right on 30 of 40 pictures.
TEST(Audit, ExactIntervalCoversTheTruth) {
  int held = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<LabelRow> rows;
    for (const int64_t picture : audit_sample(kAudited, 12, seed))
      rows.push_back({audited_name(picture), picture < 30 ? "car" : "lorry", seed, 0});
    const AuditResult result = audit_of(rows, "audit.csv", all_cars(), {"car"}, {});
    const Interval interval = exact_interval(result.right, result.labelled);
    held += interval.low <= 0.75 && 0.75 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(held, 184);
}

}  // namespace
}  // namespace tributary
