#include "tributary/run/observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/event_records.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/run/run_record.h"

namespace tributary {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::FloatEq;
using ::testing::FloatNear;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

// The scalars of a round in the only event file of `folder`.
std::map<std::string, float> curves(const std::string& folder, int64_t round) {
  std::map<std::string, float> values;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    for (const test::EventRecord& event : test::read_events(read_text(entry.path().string())))
      if (event.step == round && !event.tag.empty()) values[event.tag] = event.value;
  return values;
}

struct Rounds {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  Selection selection;
  RoundEvent event;

  Rounds() {
    event.rounds = 2;
    event.ensemble = &ensemble;
    event.probabilities = torch::full({4, 10}, 0.1);
    event.score = event.probabilities;
    event.weights = torch::tensor({0.25F, 0.75F});
    event.seconds = 4;
    event.phases = {2, 1, 0.5, 0.25};
    selection.confident = torch::arange(3);
  }

  void train() {
    ++event.round;
    event.trained = &selection;
    event.pictures = 100;
    event.losses = {{1.5, 2.5}, {-2.75, std::nan("")}, 0.5, 1.25, true};
  }
};

TEST(TensorBoardObserver, CurvesMatchTheMetricsLog) {
  const test::TempDir folder;
  Rounds rounds;
  double now = 1000;
  TensorBoardObserver observer(folder.path(), nullptr, [&now] { return now; });
  observer.on_round(rounds.event);
  now = 1010.5;
  rounds.train();
  observer.on_round(rounds.event);

  EXPECT_THAT(curves(folder.path(), 0),
              AllOf(Contains(Pair("weights/lenet", 0.25F)), Contains(Pair("weights/dtn", 0.75F)),
                    Contains(Pair("mixture/entropy", FloatNear(std::log(10.0F), 1e-3F))),
                    Not(Contains(Key("losses/adversarial"))), Not(Contains(Key("accuracy")))));
  const auto last = curves(folder.path(), 1);
  const std::map<std::string, float> expected = {{"selection/confident", 3},
                                                 {"losses/cross_entropy/lenet", 1.5F},
                                                 {"losses/cross_entropy/dtn", 2.5F},
                                                 {"losses/information/lenet", -2.75F},
                                                 {"losses/adversarial", 0.5F},
                                                 {"losses/discriminator", 1.25F},
                                                 {"seconds/round", 4},
                                                 {"seconds/training", 2},
                                                 {"seconds/evaluation", 1},
                                                 {"seconds/weights", 0.5F},
                                                 {"seconds/labels", 0.25F},
                                                 {"speed/pictures_per_second", 50}};
  EXPECT_THAT(last, IsSupersetOf(expected));
  EXPECT_TRUE(std::isnan(last.at("losses/information/dtn")));

  const std::string path = std::filesystem::directory_iterator(folder.path())->path().string();
  const auto events = test::read_events(read_text(path));
  EXPECT_EQ(events.front().wall_time, 1000);
  EXPECT_EQ(events.back().wall_time, 1010.5);
}

TEST(TensorBoardObserver, PlotsTheAccuracyIfThereAreLabels) {
  const test::TempDir folder;
  Rounds rounds;
  LabelledImages labelled{test::noise_pictures(4), {}};
  labelled.labels.values = {0, 1, 2, 3};
  AccuracyObserver accuracy(labelled, torch::kCPU);
  TensorBoardObserver observer(folder.path(), &accuracy, [] { return 1.0; });
  Observers({&accuracy, &observer}).on_round(rounds.event);
  EXPECT_THAT(curves(folder.path(), 0), Contains(Pair("accuracy", FloatEq(static_cast<float>(100 * accuracy.last())))));
}

TEST(TensorBoardObserver, PlotsTheTermsOfTheBound) {
  const test::TempDir folder;
  TensorBoardObserver observer(folder.path(), nullptr, [] { return 1.0; });
  observer.add_bound({{"round", 3}, {"mismatch", 0.25}, {"mismatch_exact", nullptr}});
  EXPECT_EQ(curves(folder.path(), 3), (std::map<std::string, float>{{"bound/mismatch", 0.25F}}));
}

TEST(TensorBoardObserver, UsesTheSystemClockByDefault) {
  const test::TempDir folder;
  const TensorBoardObserver observer(folder.path());
  const std::string path = std::filesystem::directory_iterator(folder.path())->path().string();
  EXPECT_GT(test::read_events(read_text(path)).front().wall_time, 1.6e9);  // the year 2020
}

// For the model that a run hands back if its result is not to be used.
TEST(RunRecord, RemembersTheStatisticsOfRoundZero) {
  torch::NoGradGuard no_grad;
  Rounds rounds;
  rounds.event.logits = torch::zeros({2, 4, 10});
  const auto fill = [](const Ensemble& ensemble, int64_t value) {
    for (const NamedTensor& tensor : ensemble.state()) Tensor(tensor.value).fill_(value);
  };
  RunRecord record, resumed;
  fill(rounds.ensemble, 3);
  record.on_round(rounds.event);
  fill(rounds.ensemble, 4);
  rounds.train();
  record.on_round(rounds.event);
  nlohmann::json state;
  record.save(state);
  resumed.restore(state);
  resumed.restore_tensors(record.tensors());
  resumed.require_fit({4, 2, 10, 2}, rounds.ensemble);
  Ensemble unadapted = test::small_ensemble({"lenet", "dtn"});
  fill(unadapted, 1);
  resumed.restore_first_statistics(unadapted);
  int statistics = 0;
  for (const NamedTensor& tensor : unadapted.state()) {
    const bool is_statistic = tensor.name.find(".running_") != std::string::npos;
    statistics += is_statistic ? 1 : 0;
    if (tensor.name.ends_with(".num_batches_tracked")) continue;
    EXPECT_TRUE((tensor.value == (is_statistic ? 3 : 1)).all().item<bool>()) << tensor.name;
  }
  EXPECT_GT(statistics, 0);
  EXPECT_THROW(RunRecord(record).require_fit({4, 2, 10, 2}, test::small_ensemble({"dtn", "dtn"})), InputError);
}

}  // namespace
}  // namespace tributary
