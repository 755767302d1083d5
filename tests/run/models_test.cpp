#include "tributary/run/models.h"

#include <gtest/gtest.h>

#include "tests/run/run_files.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

TEST(DomainOf, IsTheFolderThatNamesTheDomain) {
  const test::TempDir folder;
  folder.write("photos/webcam/cup/1.png", "");
  folder.write("data/signs/train-images.idx", "");
  EXPECT_EQ(domain_of(folder / "photos/webcam"), "webcam");
  EXPECT_EQ(domain_of(folder / "photos/webcam/"), "webcam");
  EXPECT_EQ(domain_of(folder / "data/signs/train-images.idx"), "signs");
  EXPECT_EQ(domain_of(folder / "photos/webcam/train"), "webcam");
  EXPECT_EQ(domain_of("data/train/train-images.idx", "sketch"), "sketch");
  EXPECT_EQ(domain_of("data/train/train-images.idx"), "train");
}

TEST(LoadModels, CombinesSourcesByTheRule) {
  const test::TempDir folder;
  const std::vector<std::string> paths = {test::write_source(folder, "lenet", 1),
                                          test::write_source(folder, "lenet", 2)};
  EXPECT_EQ(load_models(paths, "", {}).size(), 2);
  EXPECT_EQ(load_models(paths, "vote", {}).mixture.rule, Combination::kVote);
  EXPECT_EQ(load_models({paths.front()}, "", {}).size(), 1);
  EXPECT_THROW(load_models({paths.front(), paths.front()}, "", {}), InputError) << "two sources of one name";
  EXPECT_EQ(load_models({paths.front(), paths.front() + ":name=again"}, "", {}).sources.back().info().name, "again");
  EXPECT_THROW(load_models(paths, "loudest", {}), InputError);
  EXPECT_THROW(load_models(paths, "weighted_logits", {}), InputError) << "plain sources have no weights";
}

TEST(LoadModels, ATemperatureHoldsForItsOwnRuleOnly) {
  const test::TempDir folder;
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  ensemble.mixture = {Combination::kWeightedLogits, torch::tensor({3.0F, 1.0F}), 2.0};
  save_ensemble(folder / "mixture.safetensors", ensemble);
  const std::vector<std::string> path = {folder / "mixture.safetensors"};
  EXPECT_EQ(load_models(path, "", {}).mixture.temperature, 2);
  EXPECT_EQ(load_models(path, "weighted_logits", {}).mixture.temperature, 2);
  EXPECT_EQ(load_models(path, "mean_prob", {}).mixture.temperature, 1);
}

}  // namespace
}  // namespace tributary
