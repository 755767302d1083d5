// Selective self-training on ranks that keep their own rows of the target set matches one process, with every option
// that looks at the whole set.
#include <functional>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tributary/checkpoint/shared_checkpointer.h"
#include "tributary/data/digits/digits.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/target_state.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

// Trained sources: rounding does not change confident predictions.
Ensemble trained_pair() {
  static const std::vector<NamedTensors> kTrained = [] {
    std::vector<NamedTensors> states;
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    for (SourceModel& source : ensemble.sources) {
      const LabelledImages data = make_digits(DigitDomain::kHandwriting, 120, states.size());
      SourceTrainingOptions options;
      options.epochs = 4;
      options.batch = 16;
      options.sgd.weight_decay = 0;
      train_source(source, data, data, options, 1);
      states.push_back(copy_of(source.state()));
    }
    return states;
  }();
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  for (size_t j = 0; j < kTrained.size(); ++j) ensemble.sources[j].restore(kTrained[j]);
  return ensemble;
}

constexpr int64_t kDivided = 27;  // shares of two ranks differ, and batches of 9 are full

const ImageSet& divided_target() {
  static const ImageSet kTarget = make_digits(DigitDomain::kPostal, kDivided, 7).images;
  return kTarget;
}

SelectiveOptions two_rounds() {
  SelectiveOptions options;
  options.rounds = 2;
  options.inner_epochs = 1;
  options.batch = 9;
  // Larger rates amplify rounding.
  options.rate_backbone = options.rate_bottleneck = 3e-4;
  options.aggregation.rate = 0.01;
  options.aggregation.steps = 300;
  return options;
}

// Remembers how many rows each rank had of the logits.
struct RowCounter : test::Recorder {
  int64_t own = 0;
  void on_round(const RoundEvent& event) override {
    own = event.logits.size(1);
    EXPECT_EQ(event.probabilities.size(0), own);
    EXPECT_EQ(event.score.size(0), own);
    for (const Tensor& features : event.features) EXPECT_EQ(features.size(0), own);
    Recorder::on_round(event);
  }
};

struct Ingredient {
  std::string name;
  std::function<void(SelectiveOptions&)> choose;
  GivenLabels given = {};
};

class DividedTarget : public ::testing::TestWithParam<Ingredient> {};

TEST_P(DividedTarget, MatchesOneProcess) {
  SelectiveOptions options = two_rounds();
  GetParam().choose(options);
  const auto run = [&](Ensemble& ensemble) {
    RowCounter recorder;
    SelectiveSelfTraining(options, GetParam().given).adapt(ensemble, divided_target(), recorder);
    return recorder;
  };
  Ensemble alone = trained_pair();
  const RowCounter wanted = run(alone);
  EXPECT_EQ(wanted.own, kDivided);
  for (const auto& [ranks, by] : {std::pair(2, Sharding::By::kRows), std::pair(2, Sharding::By::kSources)})
    test::run_ranks(ranks, [&, by = by](Communicator& comm) {
      Ensemble ensemble = trained_pair();
      ensemble.shard(comm, by);
      const RowCounter found = run(ensemble);
      EXPECT_EQ(found.own, shard_of(kDivided, comm).count());
      ASSERT_EQ(found.rounds.size(), wanted.rounds.size());
      for (size_t r = 0; r < wanted.rounds.size(); ++r) {
        EXPECT_TENSOR_NEAR(found.rounds[r].probabilities, wanted.rounds[r].probabilities, 1e-3);
        EXPECT_TENSOR_NEAR(found.rounds[r].score, wanted.rounds[r].score, 1e-3);
        EXPECT_TENSOR_NEAR(found.rounds[r].weights, wanted.rounds[r].weights, 1e-3);
        EXPECT_EQ(found.rounds[r].initial_confident, wanted.rounds[r].initial_confident);
      }
    });
}

INSTANTIATE_TEST_SUITE_P(
    Ingredients, DividedTarget,
    ::testing::Values(
        Ingredient{"Defaults", [](SelectiveOptions&) {}},
        Ingredient{"LabelBalance", [](SelectiveOptions& o) { o.label_balance = 0.7; }},
        Ingredient{"PerClass", [](SelectiveOptions& o) { o.per_class = true; }},
        Ingredient{"SampleWeights", [](SelectiveOptions& o) { o.sample_weights = true; }},
        Ingredient{"CrossLabels", [](SelectiveOptions& o) { o.cross_labels = true; }},
        Ingredient{"ScoreMemory", [](SelectiveOptions& o) { o.score_memory = 0.4; }},
        Ingredient{"ModelAverage", [](SelectiveOptions& o) { o.model_average = 0.3; }},
        Ingredient{"ClassPrior", [](SelectiveOptions& o) { o.class_prior = "auto"; }},
        Ingredient{"ClassCap", [](SelectiveOptions& o) { o.class_cap = 1.5, o.leave_dominated = false; }},
        Ingredient{"Neighbours", [](SelectiveOptions& o) { o.neighbours = 3; }},
        Ingredient{"Statistics", [](SelectiveOptions& o) { o.target_statistics = 1; }},
        Ingredient{"AgreementStart", [](SelectiveOptions& o) { o.aggregation.start = WeightStart::kAgreement; }},
        Ingredient{
            "Probabilities",
            [](SelectiveOptions& o) { o.aggregation.space = MixtureSpace::kProbabilities, o.aggregation.steps = 60; }},
        Ingredient{"GivenLabels", [](SelectiveOptions&) {}, {test::indices({1, 4, 20}), test::indices({3, 0, 9})}},
        Ingredient{"GivenLabelsOfOneRank",
                   [](SelectiveOptions& o) { o.cross_labels = true; },
                   {test::indices({2}), test::indices({5})}}),
    [](const auto& info) { return info.param.name; });

TEST(DividedTargetState, OracleMatchesOneProcess) {
  const Labels truth = make_digits(DigitDomain::kPostal, kDivided, 7).labels;
  const auto run = [&](Ensemble& ensemble) {
    test::Recorder recorder;
    Checkpointer none;
    adapt_with_oracle(ensemble, divided_target(), truth, two_rounds(), recorder, none);
    return recorder;
  };
  Ensemble alone = trained_pair();
  const test::Recorder wanted = run(alone);
  test::run_ranks(3, [&](Communicator& comm) {
    Ensemble ensemble = trained_pair();
    ensemble.shard(comm, Sharding::By::kRows);
    EXPECT_TENSOR_NEAR(test::after(run(ensemble), 2), test::after(wanted, 2), 1e-3);
  });
}

TEST(DividedTargetState, MoreRanksThanPictures) {
  const ImageSet few = make_digits(DigitDomain::kPostal, 2, 7).images;
  test::run_ranks(3, [&](Communicator& comm) {
    Ensemble ensemble = trained_pair();
    ensemble.shard(comm, Sharding::By::kRows);
    test::Recorder recorder;
    SelectiveOptions options = two_rounds();
    options.per_class = options.cross_labels = true;
    SelectiveSelfTraining(options).adapt(ensemble, few, recorder);
    EXPECT_EQ(recorder.rounds.size(), 3u);
    EXPECT_EQ(test::after(recorder, 2).size(0), 2);
  });
}

// Stops at opportunity `at` with a checkpoint.
class StoppingRanks : public SharedCheckpointer {
 public:
  StoppingRanks(Communicator& comm, CheckpointFolder* folder, int64_t at)
      : SharedCheckpointer(comm, folder, {}), at_(at) {}
  void save_if_due(const Take& take) override {
    if (chances_++ != at_) return;
    keep(take);
    throw Interrupted(15);
  }

 private:
  int64_t at_, chances_ = 0;
};

TEST(DividedTargetState, ResumesOnAnyNumberOfRanks) {
  SelectiveOptions options = two_rounds();
  options.score_memory = 0.4;
  options.class_cap = 1.5;
  options.leave_dominated = false;
  options.cross_labels = options.sample_weights = true;
  Ensemble alone = trained_pair();
  test::Recorder wanted;
  SelectiveSelfTraining(options).adapt(alone, divided_target(), wanted);
  for (const auto& [before, after] : {std::pair(3, 2), std::pair(1, 4), std::pair(2, 1)}) {
    const test::TempDir folder;
    const auto run = [&](Communicator& comm, test::Recorder& recorder, int64_t at) {
      Ensemble ensemble = trained_pair();
      ensemble.shard(comm, Sharding::By::kRows);
      std::optional<CheckpointFolder> own;
      if (comm.first()) own.emplace(folder / "kept", CheckpointOptions{});
      StoppingRanks checkpointer(comm, own ? &*own : nullptr, at);
      SelectiveSelfTraining(options).adapt(ensemble, divided_target(), recorder, checkpointer);
    };
    test::run_ranks(before, [&](Communicator& comm) {
      test::Recorder recorder;
      EXPECT_THROW(run(comm, recorder, 5), Interrupted);
    });
    test::run_ranks(after, [&](Communicator& comm) {
      test::Recorder recorder;
      run(comm, recorder, -1);
      EXPECT_TENSOR_NEAR(recorder.rounds.back().probabilities, wanted.rounds.back().probabilities, 1e-3);
    });
  }
}

}  // namespace
}  // namespace tributary
