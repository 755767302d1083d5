#include "tributary/run/kept_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/models.h"
#include "tests/support/tensors.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kPictures = 40, kClasses = 10;

// Rounds of two sources that agree at the start. The models of round r hold the value r everywhere.
class KeptRoundTest : public ::testing::Test {
 protected:
  KeptRoundTest() {
    event_.rounds = 6;
    event_.ensemble = &ensemble_;
  }

  // A round with these labels; `wrecked` gives all pictures the next class.
  void report(KeptRound& kept, int64_t round, bool wrecked) {
    torch::NoGradGuard no_grad;
    event_.round = round;
    const Tensor label = (truth_ + (wrecked ? 1 : 0)) % kClasses;
    const Tensor sure = at::one_hot(label, kClasses).to(torch::kFloat32);
    event_.logits = at::stack({10 * sure, 10 * sure, 10 * sure});
    event_.probabilities = (10 * sure).softmax(-1);
    ensemble_.mixture = {Combination::kWeightedLogits, torch::tensor({1.0F + static_cast<float>(round), 1.0F, 1.0F})};
    event_.weights = ensemble_.mixture.weights;
    for (const NamedTensor& tensor : ensemble_.state()) Tensor(tensor.value).fill_(round);
    kept.on_round(event_);
  }

  void expect_models_of(const KeptRound& kept, int64_t round) {
    Ensemble fresh = test::small_ensemble({"lenet", "lenet", "lenet"});
    kept.hand_back(fresh);
    for (const NamedTensor& tensor : fresh.state())
      EXPECT_TRUE((tensor.value == round).all().item<bool>()) << tensor.name;
    EXPECT_EQ(fresh.mixture.rule, Combination::kWeightedLogits);
    EXPECT_TENSOR_EQ(fresh.mixture.weights, torch::tensor({1.0F + static_cast<float>(round), 1.0F, 1.0F}));
  }

  Ensemble ensemble_ = test::small_ensemble({"lenet", "lenet", "lenet"});
  Tensor truth_ = torch::arange(kPictures) % kClasses;
  RoundEvent event_;
};

TEST_F(KeptRoundTest, KeepsTheLatestRoundThatIsNotRejected) {
  KeptRound kept(KeepRule::kLabelFree);
  for (const auto& [round, wrecked] : {std::pair(0, false), {1, false}, {2, true}, {3, false}, {4, true}})
    report(kept, round, wrecked);
  EXPECT_EQ(kept.round(), 3);
  EXPECT_FALSE(kept.is_last());
  expect_models_of(kept, 3);
  EXPECT_TENSOR_EQ(kept.result().predictions.label, truth_);
  const nlohmann::json decision = kept.to_json();
  EXPECT_EQ(decision.at("round"), 3);
  EXPECT_EQ(decision.at("rule"), "label-free");
  EXPECT_EQ(decision.at("rejected"), nlohmann::json({2, 4}));
  EXPECT_THAT(decision.at("reason").get<std::string>(),
              HasSubstr("round 4 was rejected: it agrees with the unadapted sources on 0.0 % of the pictures, and "
                        "they agree among themselves on 100.0 %"));
  EXPECT_THAT(kept.signs_of_collapse(), IsEmpty());
  EXPECT_TRUE(kept.witness_metrics().at("rejected").get<bool>());
}

TEST_F(KeptRoundTest, KeepsTheLastRoundIfNothingSpeaksAgainstIt) {
  KeptRound kept(KeepRule::kLabelFree);
  for (const int64_t round : {0, 1, 2}) report(kept, round, false);
  EXPECT_EQ(kept.round(), 2);
  EXPECT_TRUE(kept.is_last());
  EXPECT_EQ(kept.to_json().at("rejected"), nlohmann::json::array());
  EXPECT_TRUE(kept.stop_json().is_null());
}

TEST_F(KeptRoundTest, KeepsTheUnadaptedModelIfAllRoundsAreRejected) {
  KeptRound kept(KeepRule::kLabelFree);
  report(kept, 0, false);
  report(kept, 1, true);
  EXPECT_FALSE(kept.wants_stop());
  report(kept, 2, true);
  expect_models_of(kept, 0);
  EXPECT_TRUE(kept.wants_stop());
  EXPECT_EQ(kept.stop_json(), nlohmann::json({{"round", 2}, {"reason", "the last two rounds were rejected"}}));
}

TEST_F(KeptRoundTest, LastKeepsNoModelsAndNeverStops) {
  KeptRound kept(KeepRule::kLast);
  for (const int64_t round : {0, 1, 2, 3}) report(kept, round, round > 0);
  EXPECT_EQ(kept.round(), 3);
  EXPECT_TRUE(kept.is_last());
  EXPECT_FALSE(kept.wants_stop());
  EXPECT_TRUE(kept.to_json().is_null());
  EXPECT_THAT(kept.result().models, IsEmpty());
}

TEST_F(KeptRoundTest, StopsWhenNoPseudoLabelChanges) {
  KeptRound kept(KeepRule::kLabelFree);
  report(kept, 0, false);
  Selection selection;
  selection.confident = torch::arange(kPictures - 1);
  event_.trained = &selection;
  for (const int64_t round : {1, 2, 3}) report(kept, round, false);
  EXPECT_FALSE(kept.wants_stop()) << "one picture is not confident";
  selection.confident = torch::arange(kPictures);
  report(kept, 4, false);
  EXPECT_FALSE(kept.wants_stop());
  report(kept, 5, false);
  EXPECT_TRUE(kept.wants_stop());
  EXPECT_THAT(kept.stop_json().at("reason").get<std::string>(), HasSubstr("no pseudo-label changed"));
}

TEST_F(KeptRoundTest, ResumesWithTheSameDecision) {
  KeptRound whole(KeepRule::kLabelFree), first(KeepRule::kLabelFree), resumed(KeepRule::kLabelFree);
  for (KeptRound* kept : {&whole, &first}) {
    report(*kept, 0, false);
    report(*kept, 1, false);
    report(*kept, 2, true);
  }
  nlohmann::json state;
  first.save(state);
  NamedTensors tensors = first.tensors();
  std::reverse(tensors.begin(), tensors.end());  // a checkpoint does not preserve the order
  resumed.restore(nlohmann::json::parse(state.dump()));
  resumed.restore_tensors(tensors);
  for (KeptRound* kept : {&whole, &resumed}) report(*kept, 3, true);
  EXPECT_EQ(resumed.to_json(), whole.to_json());
  EXPECT_EQ(resumed.stop_json(), whole.stop_json());
  EXPECT_EQ(resumed.witness_metrics(), whole.witness_metrics());
  EXPECT_EQ(resumed.round(), 1);
  expect_models_of(resumed, 1);
  EXPECT_TENSOR_EQ(resumed.result().predictions.confidence, whole.result().predictions.confidence);
  EXPECT_TENSOR_EQ(resumed.result().predictions.by_source, whole.result().predictions.by_source);
  EXPECT_TENSOR_EQ(resumed.result().weights, whole.result().weights);
}

// Three sources whose errors are independent, each wrong on 40 % of 1,000 pictures: their mean kappa is below that of
// the witness rule.
class EstimatedRounds : public KeptRoundTest {
 protected:
  EstimatedRounds() {
    Random random(7);
    for (int j = 0; j < 3; ++j) witnesses_.push_back(with_errors(0.4, random));
    report(0, witnesses_);
  }

  Tensor with_errors(double share, Random& random) const {
    Tensor label = all_.clone();
    for (int64_t i = 0; i < all_.size(0); ++i)
      if (random.chance(share)) label[i] = (all_[i].item<int64_t>() + 1 + random.below(kClasses - 1)) % kClasses;
    return label;
  }

  // A round whose members have these labels, and whose mixture is their vote.
  void report(int64_t round, const std::vector<Tensor>& members) {
    event_.round = round;
    const Tensor votes = at::one_hot(at::stack(members), kClasses).to(torch::kFloat32);
    event_.logits = 5 * votes;
    event_.probabilities = (5 * votes).softmax(-1).mean(0);
    ensemble_.mixture = {Combination::kMeanProbability, {}};
    kept_.on_round(event_);
  }

  double estimate() const { return kept_.witness_metrics().at("accuracy_from_evidence"); }

  Tensor all_ = torch::arange(1000) % kClasses;
  std::vector<Tensor> witnesses_;
  KeptRound kept_{KeepRule::kLabelFree};
};

TEST_F(EstimatedRounds, RejectARoundThatIsProbablyWorseThanTheStart) {
  ASSERT_LT(kept_.witnesses().kappa(), WitnessRule::kLeastKappa);
  const double start = estimate();
  Random random(8);
  report(1, std::vector<Tensor>(3, with_errors(0.05, random)));  // members of a good round agree
  EXPECT_GT(estimate(), start);
  EXPECT_EQ(kept_.round(), 1);
  report(2, {with_errors(0.7, random), with_errors(0.7, random), with_errors(0.7, random)});
  EXPECT_LT(estimate(), start - 0.03);
  EXPECT_EQ(kept_.round(), 1);
  EXPECT_THAT(kept_.to_json().at("reason").get<std::string>(), HasSubstr("that of the unadapted mixture"));
}

TEST_F(EstimatedRounds, RejectARoundThatIsProbablyWorseThanAnEarlierOne) {
  const double start = estimate();
  Random random(8);
  report(1, std::vector<Tensor>(3, with_errors(0.05, random)));
  const double best = estimate();
  report(2, std::vector<Tensor>(3, with_errors(0.3, random)));
  EXPECT_GT(estimate(), start);
  EXPECT_LT(estimate(), best - 0.05);
  EXPECT_EQ(kept_.round(), 1);
  EXPECT_THAT(kept_.to_json().at("reason").get<std::string>(), HasSubstr("that of an earlier round"));
}

TEST_F(EstimatedRounds, ResumeWithTheEstimateOfTheStart) {
  nlohmann::json state;
  kept_.save(state);
  KeptRound resumed(KeepRule::kLabelFree);
  resumed.restore(nlohmann::json::parse(state.dump()));
  resumed.restore_tensors(kept_.tensors());
  std::swap(kept_, resumed);
  Random random(9);
  report(1, {with_errors(0.7, random), with_errors(0.7, random), with_errors(0.7, random)});
  EXPECT_EQ(kept_.round(), 0);
}

TEST_F(KeptRoundTest, SourcesThatWereAdaptedTogetherRejectNothing) {
  KeptRound kept(KeepRule::kLabelFree, /*adapted_sources=*/true);
  report(kept, 0, false);
  report(kept, 1, true);
  EXPECT_EQ(kept.round(), 1);
  EXPECT_FALSE(kept.to_json().at("judged").get<bool>());
  EXPECT_THAT(kept.to_json().at("reason").get<std::string>(), HasSubstr("adapted together before cannot judge it"));
  EXPECT_TRUE(kept.witness_metrics().at("estimated_accuracy").is_null());
}

}  // namespace
}  // namespace tributary
