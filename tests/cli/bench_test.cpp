// `tributary bench` with the real program.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/forked_program.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTable =
    "bench digits --architecture lenet --pictures 40 --methods source-ens,shot,selective:2 --targets street,postal "
    "--source-epochs 1 --epochs 1 --rounds 1 --inner-epochs 1 --jobs 2 --threads 1 --set shot_beta=0.2 --out table";

TEST(BenchJourney, SecondRunShowsTheFinishedTable) {
  const test::TempDir folder;
  const test::Outcome first = test::run_program(folder, kTable + " --json");
  ASSERT_EQ(first.code, 0) << first.err;
  const nlohmann::json result = nlohmann::json::parse(first.out);
  ASSERT_EQ(result.at("rows").size(), 3u);
  const nlohmann::json cell = result.at("rows")[1].at("targets").at("postal");
  EXPECT_EQ(result.at("rows")[1].at("title"), "SHOT");
  EXPECT_GE(cell.at("last")[0], 0);
  EXPECT_EQ(cell.at("last").size(), 1u);
  EXPECT_EQ(result.at("rows")[2].at("targets").at("postal").at("last").size(), 2u) << "selective:2";
  EXPECT_THAT(read_text(folder / "table/runs/shot-postal-seed0/config.toml"), HasSubstr("shot_beta = 0.2\n"));
  EXPECT_GE(cell.at("best_with_labels")[0], cell.at("last")[0]);

  const std::string leftover = ".tributary-999999999-0.tmp";  // of a dead process
  for (const std::string place : {"table/", "table/runs/", "table/runs/shot-postal-seed0/", "table/sources/"})
    folder.write(place + leftover, "half");

  const auto written = std::filesystem::last_write_time(folder / "table/sources/street-seed0.safetensors");
  const test::Outcome again = test::run_program(folder, kTable + " --markdown");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("8/8"));
  EXPECT_EQ(std::filesystem::last_write_time(folder / "table/sources/street-seed0.safetensors"), written);
  EXPECT_THAT(again.out, HasSubstr("| method | street | postal | mean |"));
  EXPECT_THAT(again.out, HasSubstr("picked with labels: not a result"));
  for (const std::string name : {"table.md", "table.csv", "table.json", "report.html"})
    EXPECT_TRUE(std::filesystem::exists(folder / ("table/" + name))) << name;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "table"))
    EXPECT_NE(entry.path().filename(), leftover) << entry.path();
}

// The real path of every source of a run.
std::set<std::string> sources_of_run(const test::TempDir& folder, const std::string& run) {
  std::set<std::string> files;
  const nlohmann::json summary = nlohmann::json::parse(read_text(folder / (run + "/summary.json")));
  for (const nlohmann::json& source : summary.at("sources"))
    files.insert(std::filesystem::canonical(folder / source.at("file").get<std::string>()).string());
  return files;
}

TEST(BenchJourney, TablesShareTheirSources) {
  const test::TempDir folder;
  const std::string table =
      "bench digits --architecture lenet --pictures 30 --targets street --epochs 1 --rounds 1 --inner-epochs 1 "
      "--threads 1 --source-store store ";
  const test::Outcome first = test::run_program(folder, table + "--source-epochs 1 --methods shot --out one");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("sources: 0 of 4 found in store, the others are trained"));
  EXPECT_THAT(first.out, Not(HasSubstr("brackets")));

  const test::Outcome other = test::run_program(
      folder, table + "--source-epochs 1 --methods selective,selective-oracle --set lambda_alpha=0.7 --out two");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("sources: 4 of 4 found in store\n"));
  EXPECT_THAT(other.err, Not(HasSubstr("source signs")));
  EXPECT_THAT(other.out, HasSubstr("Selective self-training")) << "not \"Ours\", without the paper's figures";
  const std::set<std::string> sources = sources_of_run(folder, "one/runs/shot-street-seed0");
  EXPECT_EQ(sources.size(), 4u);
  EXPECT_EQ(sources_of_run(folder, "two/runs/selective-street-seed0"), sources);
  EXPECT_EQ(sources_of_run(folder, "two/runs/selective-oracle-street-seed0"), sources);

  const std::string table_before = read_text(folder / "one/table.md");
  const test::Outcome refused = test::run_program(folder, table + "--source-epochs 2 --methods shot --out one");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("one/runs/shot-street-seed0 was adapted otherwise (its sources were trained with "
                                     "other options or pictures); name another folder with --out"));
  EXPECT_THAT(refused.err, Not(HasSubstr("source signs"))) << "refused before any source is trained";
  EXPECT_EQ(read_text(folder / "one/table.md"), table_before);
  const std::string long_tail = table + "--source-epochs 1 --methods source-ens --skew long-tail --out skewed";
  const test::Outcome skewed = test::run_program(folder, long_tail), again = test::run_program(folder, long_tail);
  ASSERT_EQ(skewed.code, 0) << skewed.err;
  EXPECT_EQ(again.code, 0) << "its own runs are not those of another table: " << again.err;
  EXPECT_THAT(skewed.err, HasSubstr("sources: 4 of 4 found in store\n")) << "trained on the whole domains";
  EXPECT_THAT(read_text(folder / "skewed/runs/source-ens-street-seed0/config.toml"),
              HasSubstr("skewed/skewed/street-long-tail-seed0-images.idx"));

  const test::Outcome longer = test::run_program(folder, table + "--source-epochs 2 --methods source-ens --out one");
  ASSERT_EQ(longer.code, 0) << longer.err;
  EXPECT_THAT(longer.err, HasSubstr("sources: 0 of 4 found in store"));
  EXPECT_THAT(longer.out, HasSubstr("the runs in one start from different sources and cannot be compared"));
  EXPECT_THAT(read_text(folder / "one/table.md"), HasSubstr("different sources"));
  EXPECT_THAT(read_text(folder / "one/report.html"), HasSubstr("different sources"));
}

TEST(BenchJourney, SetPassesOptionsToAdaptations) {
  const test::TempDir folder;
  const std::string table =
      "bench digits --architecture lenet --pictures 40 --methods shot --targets street --source-epochs 1 --epochs 1 "
      "--threads 1 --out "
      "table ";
  const test::Outcome made = test::run_program(folder, table + "--set rate_bottleneck=0.5,record=false");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string config = read_text(folder / "table/runs/shot-street-seed0/config.toml");
  EXPECT_THAT(config, HasSubstr("rate_bottleneck = 0.5"));
  EXPECT_THAT(config, HasSubstr("cuda_graph = false"));

  const test::Outcome other = test::run_program(folder, table + "--set rate_bottleneck=0.25,record=false");
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(
      other.err,
      HasSubstr("table/runs/shot-street-seed0 was adapted otherwise (adapt.rate_bottleneck: 0.5 there, 0.25 here)"));
}

TEST(BenchJourney, ErrorsAreOneSentence) {
  const test::TempDir folder;
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const test::Outcome outcome = test::run_forked_program(folder, arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
  };
  refused("bench nowhere", "nowhere");
  refused("bench office-31", "name the folder of Office-31 with --data");
  refused("bench pacs", "name the folder of PACS with --data; get PACS at https://");
  refused("bench digits --pictures 20 --methods magic --out t", "--methods magic: choose among all, bait, sfda, shot");
  refused("bench digits --pictures 20 --methods all,ma:x --out t",
          "--methods ma:x: write a number of seeds after the colon");
  refused("bench digits --pictures 20 --sweep rounds --out t", "--sweep rounds: write OPTION=VALUE");
  refused("bench digits --pictures 20 --set rounds --out t", "--set rounds: write OPTION=VALUE");
  refused("bench digits --pictures 20 --set =2 --out t", "--set =2: write OPTION=VALUE");
  refused("adapt --method magic --source a --target b", "--method magic: choose one of bait, sfda");
  refused("adapt --method shot --oracle-labels x --source a --target b", "shot has no oracle");
}

}  // namespace
}  // namespace tributary
