#include "tributary/experiments/source_store.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

TEST(Digest, IsFnv1a) {
  // Fowler, Noll and Vo's own test values.
  EXPECT_EQ(digest_of(""), "cbf29ce484222325");
  EXPECT_EQ(digest_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(digest_of("foobar"), "85944171f73967e8");
  const test::TempDir folder;
  EXPECT_EQ(file_digest(folder.write("weights", "foobar")), "85944171f73967e8");
}

TEST(DataDigest, DependsOnNamesLabelsAndSizesButNotOnThePlace) {
  const test::TempDir one, two;
  for (const test::TempDir* folder : {&one, &two}) {
    folder->write("photos/bike/a.png", "12");
    folder->write("photos/mug/b.png", "345");
  }
  const std::string digest = data_digest(one / "photos");
  EXPECT_EQ(data_digest(two / "photos"), digest);
  EXPECT_EQ(data_digest((two / "photos") + "/"), digest);
  two.write("photos/mug/b.png", "3456");
  EXPECT_NE(data_digest(two / "photos"), digest) << "a size";
  two.write("photos/mug/b.png", "345");
  EXPECT_EQ(data_digest(two / "photos"), digest);
  std::filesystem::rename(two / "photos/mug/b.png", two / "photos/mug/c.png");
  EXPECT_NE(data_digest(two / "photos"), digest) << "a name";

  one.write("list.txt", "photos/bike/a.png 0\nphotos/mug/b.png 1\n");
  const std::string listed = data_digest(one / "list.txt");
  one.write("list.txt", "photos/bike/a.png 1\nphotos/mug/b.png 0\n");
  EXPECT_NE(data_digest(one / "list.txt"), listed) << "labels";
}

TEST(DataDigest, DependsOnTheContentOfPackedFiles) {
  const test::TempDir folder;
  const auto idx = [&](char pixel, char label) {
    folder.write("train-images.idx", std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1", 16) + pixel);
    folder.write("train-labels.idx", std::string("\0\0\x08\x01\0\0\0\1", 8) + label);
    return data_digest(folder / "train-images.idx");
  };
  const std::string digest = idx(7, 1);
  EXPECT_EQ(idx(7, 1), digest);
  EXPECT_NE(idx(8, 1), digest);
  EXPECT_NE(idx(7, 2), digest);
}

TEST(StoredSource, EveryDependencyChangesItsName) {
  const SourceRecipe recipe = {{"architecture", "lenet"}, {"options", "epochs = 3"}};
  const StoredSource source = stored_source("store", "street", 0, recipe);
  EXPECT_THAT(source.folder, testing::MatchesRegex("store/street-seed0-[0-9a-f]{16}"));
  EXPECT_EQ(source.model, source.folder + "/model.safetensors");
  EXPECT_EQ(stored_source("store", "street", 0, recipe).folder, source.folder);
  std::set<std::string> digests;
  const auto add = [&](const StoredSource& other) { digests.insert(other.folder.substr(other.folder.size() - 16)); };
  add(source);
  add(stored_source("store", "street", 1, recipe));
  add(stored_source("store", "signs", 0, recipe));
  add(stored_source("store", "street", 0, {{"architecture", "dtn"}, {"options", "epochs = 3"}}));
  add(stored_source("store", "street", 0, {{"architecture", "lenet"}, {"options", "epochs = 4"}}));
  add(stored_source("store", "street", 0, {{"architecture", "lenet"}}));
  EXPECT_EQ(digests.size(), 6u);
}

TEST(StoredSource, IsTrainedOnce) {
  const test::TempDir folder;
  const StoredSource source = stored_source(folder.path(), "street", 0, {{"architecture", "lenet"}});
  EXPECT_FALSE(source.trained());
  const auto train = [&] { write_file_atomically(source.model, "weights"); };
  EXPECT_TRUE(train_stored(source, train));
  EXPECT_TRUE(source.trained());
  EXPECT_FALSE(train_stored(source, [] { FAIL() << "trained twice"; }));
  const nlohmann::json recipe = nlohmann::json::parse(read_text(source.folder + "/source.json"));
  EXPECT_EQ(recipe, (nlohmann::json{{"architecture", "lenet"}, {"domain", "street"}, {"seed", "0"}}));
  EXPECT_THROW(train_stored(stored_source(folder.path(), "street", 1, {}), [] { work_error("interrupted"); }),
               WorkError);
  EXPECT_FALSE(stored_source(folder.path(), "street", 1, {}).trained());
}

// Writes a finished run whose only source is `source`.
void write_run(const test::TempDir& folder, const std::string& run, const std::string& source) {
  const nlohmann::json summary = {{"sources", {{{"name", "x"}, {"file", source}}}}};
  folder.write("runs/" + run + "/summary.json", summary.dump());
  folder.write("runs/" + run + "/DONE", "");
}

TEST(MixedSources, AreFoundAndNamed) {
  const test::TempDir folder;
  const std::vector<std::string> domains = {"street", "art_painting"};
  EXPECT_TRUE(mixed_sources(folder.path(), domains).empty());
  write_run(folder, "shot-art_painting-seed0", "store/street-seed0-aaaa/model.safetensors");
  write_run(folder, "selective-oracle-art_painting-seed0", "elsewhere/street-seed0-aaaa/model.safetensors");
  write_run(folder, "shot-art_painting-seed1", "store/street-seed1-bbbb/model.safetensors");
  EXPECT_TRUE(mixed_sources(folder.path(), domains).empty()) << "another seed is another source";
  EXPECT_EQ(mixed_sources_text(folder.path(), {}), "");

  write_run(folder, "nrc-art_painting-seed0", "store/street-seed0-cccc/model.safetensors");
  write_run(folder, "ma-art_painting-seed0", "out/sources/street-seed0.safetensors");
  folder.write("runs/bait-art_painting-seed0/summary.json", "{");  // unfinished
  const std::vector<MixedSources> mixed = mixed_sources(folder.path(), domains);
  ASSERT_EQ(mixed.size(), 1u);
  EXPECT_EQ(mixed[0].source, "street-seed0");
  EXPECT_THAT(mixed_sources_text("out", mixed),
              testing::HasSubstr("of street-seed0: selective-oracle, shot from aaaa; ma from an earlier version; nrc "
                                 "from cccc"));
}

}  // namespace
}  // namespace tributary
