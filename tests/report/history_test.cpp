#include "tributary/report/history.h"

#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

constexpr int64_t kPictures = 30, kClasses = 10;

// Round events with random values.
struct FakeRun {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  Selection selection = select_confident(test::normals({kPictures, kClasses}, 9).softmax(-1), 12);

  RoundEvent event(int64_t round, bool denoised = true) {
    RoundEvent event;
    event.round = round;
    event.rounds = 2;
    event.ensemble = &ensemble;
    const auto seed = static_cast<uint64_t>(round);
    event.features = {test::normals({kPictures, 20}, seed), test::normals({kPictures, 7}, seed + 10)};
    event.logits = test::normals({2, kPictures, kClasses}, seed + 20);
    event.probabilities = event.logits.mean(0).softmax(-1);
    if (denoised) event.score = test::normals({kPictures, kClasses}, seed + 30).softmax(-1);
    if (round > 0 && denoised) event.trained = &selection;
    return event;
  }
};

std::string folder_with(const test::TempDir& folder, HistoryOptions options, int64_t rounds = 2) {
  RunFolder run(folder / "run", "");
  run.start();
  HistoryObserver observer(run, options);
  FakeRun fake;
  for (int64_t round = 0; round <= rounds; ++round) observer.on_round(fake.event(round));
  return run.path();
}

TEST(History, StoresPredictionsAndFeaturesOfARound) {
  const test::TempDir folder;
  const History history = read_history(folder_with(folder, {}));
  FakeRun fake;
  ASSERT_EQ(history.rounds.size(), 3u);
  EXPECT_EQ(history.classes, fake.ensemble.classes());
  EXPECT_EQ(history.sources.size(), 2u);
  EXPECT_EQ(history.device, "cpu");
  EXPECT_EQ(history.joint_width, fake.ensemble.joint_width());
  const RoundEvent event = fake.event(2);
  const RoundHistory& round = history.rounds[2];
  EXPECT_EQ(round.round, 2);
  EXPECT_TENSOR_EQ(round.label, event.probabilities.argmax(-1));
  EXPECT_TENSOR_EQ(round.pseudo_label, event.score.argmax(-1));
  EXPECT_TENSOR_EQ(round.confidence, std::get<0>(event.score.max(-1)));
  EXPECT_TENSOR_EQ(round.source_label, event.logits.argmax(-1));
  EXPECT_TENSOR_EQ(round.confident.nonzero().flatten(), std::get<0>(fake.selection.confident.sort()));
  EXPECT_FALSE(history.rounds[0].confident.defined());
  EXPECT_TENSOR_EQ(round.sample, torch::arange(kPictures));
  EXPECT_TENSOR_NEAR(at::cdist(round.features, round.features),
                     at::cdist(at::cat(event.features, 1), at::cat(event.features, 1)), 0.02);
  ASSERT_EQ(round.source_features.size(), 2u);
  EXPECT_EQ(round.source_features[1].sizes().vec(), (std::vector<int64_t>{kPictures, 7}));
}

TEST(History, StoresFeaturesOfASampleAndMoreInTheLastRound) {
  const test::TempDir folder;
  const History history = read_history(folder_with(folder, {10, 20, 3, 2}));
  EXPECT_EQ(history.rounds[1].features.sizes().vec(), (std::vector<int64_t>{10, 3}));
  EXPECT_EQ(history.rounds[2].sample.size(0), 20);
  const Tensor within = (history.rounds[2].sample.unsqueeze(1) == history.rounds[1].sample).any(0);
  EXPECT_TRUE(within.all().item<bool>()) << "the smaller sample is a subset of the larger";
}

TEST(History, UsesTheMixtureForMethodsWithoutPseudoLabels) {
  const test::TempDir folder;
  RunFolder run(folder / "run", "");
  run.start();
  HistoryObserver observer(run, {});
  FakeRun fake;
  const RoundEvent event = fake.event(0, /*denoised=*/false);
  observer.on_round(event);
  const RoundHistory round = read_history(run.path()).rounds.front();
  EXPECT_FALSE(round.pseudo_label.defined());
  EXPECT_TENSOR_EQ(round.confidence, std::get<0>(event.probabilities.max(-1)));
}

TEST(History, OverwritesThatOfAnInterruptedRun) {
  const test::TempDir folder;
  folder_with(folder, {}, 2);
  EXPECT_EQ(read_history(folder_with(folder, {}, 1)).rounds.size(), 2u);
}

TEST(History, RejectsLabelsThatAreNoClasses) {
  const test::TempDir folder;
  const std::string run = folder_with(folder, {});
  const nlohmann::json common = nlohmann::json::parse(read_text(run + "/history/run.json"));
  nlohmann::json fewer = common;
  fewer["classes"] = {"only"};
  write_file_atomically(run + "/history/run.json", fewer.dump());
  EXPECT_THROW(read_history(run), InputError);
}

TEST(History, RejectsDamagedFiles) {
  const test::TempDir folder;
  EXPECT_THROW(read_history(folder / "nowhere"), InputError);
  const std::string run = folder_with(folder, {});
  const std::string file = run + "/history/0001.safetensors";
  const std::vector<uint8_t> whole = read_file(file);
  for (const size_t length : {size_t{0}, size_t{7}, whole.size() / 2, whole.size() - 1}) {
    write_file_atomically(file, std::span(whole).first(length));
    EXPECT_THROW(read_history(run), InputError) << length;
  }
  write_safetensors(file, {});
  EXPECT_THROW(read_history(run), InputError) << "an empty file";
  write_file_atomically(file, whole);
  write_file_atomically(run + "/history/run.json", "{");
  EXPECT_THROW(read_history(run), InputError);
}

}  // namespace
}  // namespace tributary
