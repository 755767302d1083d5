// Selective self-training with labels that the user gave.
#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/target_state.h"

namespace tributary {
namespace {

SelectiveOptions short_options() {
  SelectiveOptions options;
  options.rounds = 3;
  options.inner_epochs = 1;
  options.batch = 8;
  options.lambda_alpha = 1.5;
  options.aggregation.steps = 20;
  return options;
}

GivenLabels some_labels() {
  return {torch::tensor({0, 11, 23}), torch::tensor({9, 4, 4})};
}

// Keeps the labels that every round trained on, and the scores.
struct GivenRecorder : Observer {
  std::vector<Tensor> trained, score;
  void on_round(const RoundEvent& event) override {
    if (event.trained) trained.push_back(event.trained->label.clone());
    score.push_back(event.score.clone());
  }
};

TEST(SelectiveWithGivenLabels, TrainsOnThemInEveryRoundAndNeverChangesThem) {
  for (const bool all_ingredients : {false, true}) {
    SelectiveOptions options = short_options();
    if (all_ingredients) {
      options.neighbours = 3;
      options.score_memory = 0.5;
      options.per_class = options.sample_weights = true;
    }
    const GivenLabels given = some_labels();
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    GivenRecorder recorder;
    SelectiveSelfTraining(options, given).adapt(ensemble, test::noise_pictures(24), recorder);
    ASSERT_EQ(recorder.trained.size(), 3u);
    for (const Tensor& label : recorder.trained) EXPECT_TENSOR_EQ(label.index_select(0, given.index), given.label);
    for (const Tensor& score : recorder.score)
      EXPECT_TENSOR_EQ(score.index_select(0, given.index).argmax(1), given.label);
  }
}

TEST(SelectiveWithGivenLabels, WithoutAnyNothingChanges) {
  const auto adapted = [](const GivenLabels& given) {
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    GivenRecorder recorder;
    SelectiveSelfTraining(short_options(), given).adapt(ensemble, test::noise_pictures(24), recorder);
    return recorder.score.back();
  };
  const Tensor none = torch::empty({0}, torch::kInt64);
  EXPECT_TENSOR_EQ(adapted({none, none}), adapted({}));
  EXPECT_GT(test::distance(adapted(some_labels()), adapted({})), 1e-3);
}

// The weight of a given label acts in the cross-entropy only, so without that loss nothing depends on it.
TEST(SelectiveWithGivenLabels, TheirWeightActsInTheCrossEntropy) {
  const auto adapted = [](double weight, double lambda_ce) {
    SelectiveOptions options = short_options();
    options.given_weight = weight;
    options.lambda_ce = lambda_ce;
    Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
    GivenRecorder recorder;
    SelectiveSelfTraining(options, some_labels()).adapt(ensemble, test::noise_pictures(24), recorder);
    return recorder.score.back();
  };
  EXPECT_TENSOR_EQ(adapted(1, 0), adapted(20, 0));
  EXPECT_GT(test::distance(adapted(1, 1), adapted(20, 1)), 1e-3);
}

}  // namespace
}  // namespace tributary
