// Selective self-training of sources that know different classes.
#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/methods/selective/target_state.h"

namespace tributary {
namespace {

// Four classes; source 1 does not know class 3.
Ensemble partly_knowing() {
  Ensemble ensemble;
  ensemble.sources.emplace_back(test::small_info("lenet", 4, 16), Random(1));
  ensemble.sources.emplace_back(test::small_info("lenet", 3, 16), Random(2));
  ensemble.sources[1].rename("other");
  ensemble.sources[1].set_classes(ensemble.sources[0].info().classes, {0, 1, 2});
  return ensemble;
}

SelectiveOptions step_options() {
  SelectiveOptions options;
  options.lambda_adv = 0;
  return options;
}

StepBatch batch_of(const Ensemble& ensemble, const Tensor& x, const Tensor& label) {
  StepBatch batch;
  batch.confident = std::vector<Tensor>(static_cast<size_t>(ensemble.size()), x);
  batch.label = label;
  batch.mixing = {torch::tensor(0.3f), test::indices({1, 2, 3, 4, 5, 0})};
  return batch;
}

TEST(ClassSetTraining, ASourceLearnsNothingFromClassesThatItDoesNotKnow) {
  Ensemble ensemble = partly_knowing();
  SelectiveStep step(ensemble, step_options());
  const Tensor x = test::normals({6, 3, 32, 32}, 3);
  const Tensor losses = step.accumulate(batch_of(ensemble, x, torch::full({6}, 3, torch::kInt64)), Random(4));
  EXPECT_GT(losses[0].item<double>(), 0);
  EXPECT_EQ(losses[1].item<double>(), 0) << "cross-entropy of the source that does not know the class";
  EXPECT_EQ(losses[3].item<double>(), 0) << "its information loss";
  for (const NamedTensor& parameter : ensemble.sources[1].backbone_parameters())
    EXPECT_EQ(parameter.value.grad().abs().max().item<double>(), 0) << parameter.name;
}

TEST(ClassSetTraining, KnownClassesTrainAsIfTheOthersDidNotExist) {
  // With labels of known classes only, the loss of source 1 is that of the same source with three classes.
  Ensemble ensemble = partly_knowing(), plain;
  plain.sources.emplace_back(test::small_info("lenet", 3, 16), Random(1));
  plain.sources.emplace_back(test::small_info("lenet", 3, 16), Random(2));
  const Tensor x = test::normals({6, 3, 32, 32}, 3), label = test::indices({0, 1, 2, 2, 1, 0});
  SelectiveStep step(ensemble, step_options()), reference(plain, step_options());
  const Tensor losses = step.accumulate(batch_of(ensemble, x, label), Random(4));
  const Tensor expected = reference.accumulate(batch_of(plain, x, label), Random(4));
  EXPECT_NEAR(losses[1].item<double>(), expected[1].item<double>(), 1e-5);
  EXPECT_NEAR(losses[3].item<double>(), expected[3].item<double>(), 1e-5);
}

TEST(ClassSetTraining, EqualSetsInAnOutputMapTrainAlike) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"}, 3), same = test::small_ensemble({"lenet", "dtn"}, 3);
  same.sources[1].set_classes(same.sources[1].info().classes, {0, 1, 2});
  EXPECT_TRUE(same.sources[1].output_map().empty());
  EXPECT_FALSE(same.known().defined());
}

struct ClassSetRecorder : Observer {
  std::vector<RoundEvent> rounds;
  void on_round(const RoundEvent& event) override { rounds.push_back(event); }
};

TEST(ClassSetTraining, RunsAndPredictsTheUnion) {
  for (const Variant variant : {Variant::kTributary, Variant::kPaper, Variant::kCode}) {
    Ensemble ensemble = partly_knowing();
    SelectiveOptions options;
    apply_variant(options, variant);
    options.rounds = 2;
    options.inner_epochs = 1;
    options.batch = 8;
    options.leave_dominated = false;
    options.aggregation.steps = 20;
    ClassSetRecorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, test::noise_pictures(24), recorder);
    ASSERT_EQ(recorder.rounds.size(), 3u);
    const RoundEvent& last = recorder.rounds.back();
    EXPECT_EQ(last.probabilities.size(1), 4);
    EXPECT_TRUE(last.probabilities.isfinite().all().item<bool>());
    EXPECT_TRUE(last.score.isfinite().all().item<bool>());
    // The paper divides the weights by their sum plus 1e-5, so its mixture of probabilities sums to 1 - 1e-5.
    EXPECT_TENSOR_NEAR(last.probabilities.sum(1), torch::ones({24}), 1e-4);
    for (const NamedTensor& tensor : ensemble.state())
      EXPECT_TRUE(tensor.value.isfinite().all().item<bool>()) << tensor.name;
  }
}

}  // namespace
}  // namespace tributary
