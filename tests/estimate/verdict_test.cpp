#include "tributary/estimate/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AccuracyEstimate estimate_of(double accuracy, double half) {
  AccuracyEstimate estimate;
  estimate.accuracy = accuracy;
  estimate.half = half;
  estimate.interval = {accuracy - half, accuracy + half};
  return estimate;
}

VerdictFacts good_facts() {
  VerdictFacts facts;
  facts.before = estimate_of(0.85, 0.04);
  facts.after = estimate_of(0.92, 0.05);
  facts.sources = 4;
  facts.pictures = 1000;
  return facts;
}

void expect_doubt(const VerdictFacts& facts, const std::string& reason) {
  const Verdict verdict = verdict_of(facts);
  EXPECT_EQ(verdict.decision, Decision::kCheck);
  EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr(reason)));
}

TEST(Verdict, UsesAResultThatNothingSpeaksAgainst) {
  const Verdict verdict = verdict_of(good_facts());
  EXPECT_STREQ(name_of(verdict.decision), "use");
  EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("at least 87 %")));
}

TEST(Verdict, RejectsAResultThatGotWorse) {
  VerdictFacts facts = good_facts();
  facts.after = estimate_of(0.7, 0.05);
  const Verdict verdict = verdict_of(facts);
  EXPECT_STREQ(name_of(verdict.decision), "do not use");
  EXPECT_THAT(verdict.reasons, ElementsAre("the estimated accuracy fell from 85 % to 70 %"));
  facts.adapted = false;  // the same figures of the unadapted mixture are no fall
  EXPECT_EQ(verdict_of(facts).decision, Decision::kCheck);
}

TEST(Verdict, RejectsCollapsesAndContradictions) {
  VerdictFacts facts = good_facts();
  facts.collapse = {"2 of 10 classes are left"};
  facts.contradicts_sources = true;
  const Verdict verdict = verdict_of(facts);
  EXPECT_EQ(verdict.decision, Decision::kDoNotUse);
  EXPECT_THAT(verdict.reasons, ElementsAre("2 of 10 classes are left", HasSubstr("agree less with the unadapted")));
}

TEST(Verdict, AsksForACheckInDoubt) {
  VerdictFacts facts = good_facts();
  facts.required = 0.9;
  expect_doubt(facts, "as low as 87 %, below the required 90 %");
  facts = good_facts();
  facts.sources = 2;
  expect_doubt(facts, "two sources");
  facts = good_facts();
  facts.pictures = 150;
  expect_doubt(facts, "150 pictures are few");
  facts = good_facts();
  facts.rare_classes = 1;
  expect_doubt(facts, "1 class is almost never predicted");
  facts = good_facts();
  facts.after->spread = 0.06;
  expect_doubt(facts, "disagree by 12 points");
  facts = good_facts();
  facts.after.reset();
  facts.adapted_before = true;
  expect_doubt(facts, "adapted together before");
  facts.adapted_before = false;
  facts.sources = 1;
  expect_doubt(facts, "one source alone");
}

}  // namespace
}  // namespace tributary
