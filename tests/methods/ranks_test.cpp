// Adaptations on several ranks end as those of one process: losses, selections, accuracy.
#include <gtest/gtest.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/thread_ranks.h"
#include "tributary/checkpoint/shared_checkpointer.h"
#include "tributary/data/digits/digits.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

using test::Recorder;

// The tolerance of probabilities after two rounds; that of losses is 1e-4. The domain weights, which many steps fit to
// all probabilities, amplify rounding.
constexpr double kProbability = 1e-3;

struct Case {
  std::string method;
  int64_t ranks;
  Sharding::By by = Sharding::By::kRows;
};

std::unique_ptr<Method> method_named(const std::string& name) {
  if (name == "selective") {
    SelectiveOptions options;
    options.rounds = 2;
    options.inner_epochs = 1;
    options.batch = 8;
    return std::make_unique<SelectiveSelfTraining>(options);
  }
  for (const MethodEntry& entry : registered_methods())
    if (entry.name == name) return entry.make(test::quick());
  throw std::logic_error("no method " + name);
}

// Two trained sources: rounding does not change confident predictions.
Ensemble sources() {
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

// Whole batches: with two pictures BatchNorm keeps little more than the sign of their difference, which rounding can
// flip.
ImageSet target() {
  return make_digits(DigitDomain::kPostal, 24, 7).images;
}

Recorder adapted(Ensemble& ensemble, const std::string& method, const ImageSet& pictures) {
  Recorder recorder;
  method_named(method)->adapt(ensemble, pictures, recorder);
  return recorder;
}

void expect_near(const std::vector<double>& one, const std::vector<double>& other, const std::string& what) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-4) << what << " " << i;
}

void expect_equal(const Recorder& one, const Recorder& other) {
  ASSERT_EQ(one.rounds.size(), other.rounds.size());
  for (size_t r = 0; r < one.rounds.size(); ++r) {
    const RoundEvent &a = one.rounds[r], &b = other.rounds[r];
    for (const auto& [name, values] : a.means) expect_near(values, b.means.at(name), name);
    expect_near(a.losses.cross_entropy, b.losses.cross_entropy, "cross-entropy");
    expect_near(a.losses.information, b.losses.information, "information");
    EXPECT_NEAR(a.losses.adversarial, b.losses.adversarial, 1e-4);
    EXPECT_NEAR(a.losses.discriminator, b.losses.discriminator, 1e-4);
    EXPECT_EQ(a.initial_confident, b.initial_confident);
    EXPECT_LT((a.probabilities - b.probabilities).abs().max().item<double>(), kProbability);
    EXPECT_EQ(a.pictures, b.pictures);
  }
}

class DistributedSession : public ::testing::TestWithParam<Case> {};

TEST_P(DistributedSession, EndAsOneProcess) {
  const ImageSet pictures = target();
  Ensemble alone = sources();
  const Recorder wanted = adapted(alone, GetParam().method, pictures);
  test::session(GetParam().ranks, [&](Communicator& comm) {
    Ensemble ensemble = sources();
    ensemble.shard(
        comm, method_named(GetParam().method)->division() == Division::kNone ? Sharding::By::kNothing : GetParam().by);
    expect_equal(adapted(ensemble, GetParam().method, pictures), wanted);
  });
}

INSTANTIATE_TEST_SUITE_P(Communicator, DistributedSession,
                         ::testing::Values(Case{"selective", 1}, Case{"selective", 2}, Case{"selective", 4},
                                           Case{"selective", 7}, Case{"selective", 1, Sharding::By::kSources},
                                           Case{"selective", 2, Sharding::By::kSources},
                                           Case{"selective", 3, Sharding::By::kSources}, Case{"shot", 2},
                                           Case{"sfda", 2}, Case{"nrc", 2}, Case{"aad", 2}, Case{"cowa", 2},
                                           Case{"bait", 2}, Case{"ma", 2}, Case{"decision", 2}, Case{"decision", 4},
                                           Case{"decision", 2, Sharding::By::kSources}, Case{"caida", 2},
                                           Case{"shot", 2, Sharding::By::kSources}),
                         [](const auto& info) {
                           return fmt::format("{}{}By{}", info.param.method, info.param.ranks,
                                              info.param.by == Sharding::By::kRows ? "Rows" : "Sources");
                         });

TEST(TogetherStreamed, PicturesThatDoNotLieInMemoryAreTheSame) {
  const ImageSet pictures = target();
  Ensemble alone = sources();
  const Recorder wanted = adapted(alone, "selective", pictures);
  for (const Sharding::By by : {Sharding::By::kRows, Sharding::By::kSources})
    test::session(2, [&](Communicator& comm) {
      Ensemble ensemble = sources();
      ensemble.shard(comm, by);
      expect_equal(adapted(ensemble, "selective", test::streamed(pictures)), wanted);
    });
}

TEST(TogetherTraining, OfASourceIsThatOfOneProcess) {
  LabelledImages data{test::noise_pictures(24), {numbered_classes(10), {}}};
  for (int64_t i = 0; i < 24; ++i) data.labels.values.push_back(i % 10);
  SourceTrainingOptions options;
  options.epochs = 2;
  options.batch = 8;
  SourceModel alone(test::small_info("dtn"), Random(1));
  train_source(alone, data, data, options, 1);
  const NamedTensors wanted = alone.state();
  test::session(3, [&](Communicator& comm) {
    SourceModel model(test::small_info("dtn"), Random(1));
    model.shard({&comm, Sharding::By::kRows});
    train_source(model, data, data, options, 1);
    const NamedTensors state = model.state();
    for (size_t i = 0; i < state.size(); ++i)
      EXPECT_LT((state[i].value.detach() - wanted[i].value.detach()).abs().max().item<double>(), 1e-4) << state[i].name;
  });
}

// Saves the first rank's checkpoint at chance number `at` to save one, and stops the work there.
class Interrupting : public SharedCheckpointer {
 public:
  Interrupting(Communicator& comm, CheckpointFolder* folder, int64_t at)
      : SharedCheckpointer(comm, folder, {}), at_(at) {}
  void save_if_due(const Take& take) override {
    if (chances_++ != at_) return;
    keep(take);
    throw Interrupted(15);
  }

 private:
  int64_t at_, chances_ = 0;
};

// Interrupts an adaptation on `before` ranks and resumes it on `after` ranks.
void expect_resumed(int64_t before, int64_t after, Sharding::By by) {
  const test::TempDir folder;
  const ImageSet pictures = target();
  Ensemble alone = sources();
  const Recorder wanted = adapted(alone, "selective", pictures);
  const auto run = [&](Communicator& comm, Recorder& recorder, int64_t at) {
    Ensemble ensemble = sources();
    ensemble.shard(comm, by);
    std::optional<CheckpointFolder> own;
    if (comm.first()) own.emplace(folder / "kept", CheckpointOptions{});
    Interrupting checkpointer(comm, own ? &*own : nullptr, at);
    method_named("selective")->adapt(ensemble, pictures, recorder, checkpointer);
  };
  test::session(before, [&](Communicator& comm) {
    Recorder recorder;
    EXPECT_THROW(run(comm, recorder, 3), Interrupted);
  });
  test::session(after, [&](Communicator& comm) {
    Recorder recorder;
    run(comm, recorder, -1);
    EXPECT_LT((recorder.rounds.back().probabilities - wanted.rounds.back().probabilities).abs().max().item<double>(),
              kProbability);
  });
}

TEST(TogetherInterrupted, ResumesWithAnotherNumberOfRanks) {
  expect_resumed(2, 3, Sharding::By::kRows);
  expect_resumed(3, 1, Sharding::By::kRows);
}

TEST(TogetherInterrupted, BySourcesKeepsWhatEachRankHas) {
  expect_resumed(2, 1, Sharding::By::kSources);
}

}  // namespace
}  // namespace tributary
