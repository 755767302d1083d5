// `tributary report` with the real program.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/forked_program.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

// The JSON data of a page.
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t from = page.find(begin);
  if (from == std::string::npos) return {};
  return nlohmann::json::parse(page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size()));
}

class ReportJourney : public ::testing::Test {
 protected:
  test::Outcome run(const std::string& arguments) const { return test::run_forked_program(folder_, arguments); }

  void SetUp() override {
    ASSERT_EQ(run("data make digits data --pictures 60 --test-pictures 20").code, 0);
    for (const std::string domain : {"postal", "signs"})
      ASSERT_EQ(run("train --data data/" + domain + "/train-images.idx --architecture lenet --epochs 1 --out " +
                    domain + ".safetensors")
                    .code,
                0);
  }

  std::string adapt(const std::string& run = "run") const {
    return "adapt --source postal.safetensors --source signs.safetensors --target data/street/train-images.idx "
           "--rounds 2 --inner-epochs 1 --no-leave-dominated --run " +
           run + " ";
  }

  test::TempDir folder_;
};

TEST_F(ReportJourney, RunWritesAReportAndLabelsGiveAnother) {
  const test::Outcome adapted = run(adapt() + "--live --tensorboard --points 30 --test data/street/test-images.idx");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(adapted.out, HasSubstr("run/report.html"));
  const nlohmann::json data = data_of(test::file_text(folder_ / "run/report.html"));
  EXPECT_EQ(data.at("rounds").size(), 3u);
  EXPECT_EQ(data.at("pictures"), 60);
  EXPECT_EQ(data.at("embedding").at("sampled"), 30);
  EXPECT_EQ(data.at("finished"), true);
  EXPECT_TRUE(data.at("labels").is_null()) << "no labels were given";
  EXPECT_EQ(data.at("test"), "data/street/test-images.idx");
  const nlohmann::json summary = nlohmann::json::parse(test::file_text(folder_ / "run/summary.json"));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(data.at("rounds")[i].at("test_accuracy").is_number()) << i;
    EXPECT_EQ(data.at("rounds")[i].at("confident"), summary.at("confident_rounds")[i]) << "as on the terminal";
  }
  EXPECT_FALSE(data.at("rounds")[2].at("losses").contains("waiting_seconds"));
  EXPECT_EQ(data.at("sources")[1].at("file"), "signs.safetensors");
  int curves = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run"))
    curves += entry.path().filename().string().starts_with("events.out.tfevents");
  EXPECT_EQ(curves, 1);

  const test::Outcome labelled =
      run("report run --labels data/street/train-images.idx --embedded-rounds 0 --out new/labelled.html");
  ASSERT_EQ(labelled.code, 0) << labelled.err;
  const nlohmann::json known = data_of(test::file_text(folder_ / "new/labelled.html"));
  int64_t sum = 0;
  for (const auto& row : known.at("confusion").at("after"))
    for (const auto& count : row) sum += count.get<int64_t>();
  EXPECT_EQ(sum, 60);
  EXPECT_FALSE(known.at("rounds")[2].at("accuracy").at("mixture").is_null());
  EXPECT_TRUE(known.at("embedding").is_null());

  const test::Outcome figure = run("report run --figure tsne");
  ASSERT_EQ(figure.code, 0) << figure.err;
  EXPECT_THAT(test::file_text(folder_ / "run/tsne.svg"), HasSubstr("<svg"));
  EXPECT_THAT(test::file_text(folder_ / "run/tsne.png"), HasSubstr("PNG"));
}

TEST_F(ReportJourney, AKilledRunWithACutLastLineHasAReport) {
  ASSERT_EQ(run(adapt() + "--no-report").code, 0);
  const std::string metrics = test::file_text(folder_ / "run/metrics.jsonl");
  folder_.write("run/metrics.jsonl", metrics.substr(0, metrics.size() - 20));
  for (const char* last : {"run/DONE", "run/summary.json"}) std::filesystem::remove(folder_ / last);
  const test::Outcome cut = run("report run --embedded-rounds 0");
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_EQ(data_of(test::file_text(folder_ / "run/report.html")).at("finished"), false);
}

TEST_F(ReportJourney, LabelsOfAShuffledCopyAreMatched) {
  // The target is a flat folder. Its labels come as class folders of renamed copies, and as a list in reverse order.
  ASSERT_EQ(run("data make digits png --pictures 40 --test-pictures 1 --format png").code, 0);
  namespace fs = std::filesystem;
  folder_.folder("target");
  std::string list;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "png/street/train")) {
    if (!entry.is_regular_file()) continue;
    const int number = std::stoi(entry.path().stem());
    const std::string label = entry.path().parent_path().filename(), name = std::to_string(number * 7 % 40) + ".png";
    fs::copy_file(entry.path(), folder_ / ("target/" + name));
    list = "target/" + name + " " + label + "\n" + list;
  }
  folder_.write("labels.txt", list);
  const std::string sources = "adapt --source postal.safetensors --source signs.safetensors --target target ";
  ASSERT_EQ(run(sources + "--rounds 1 --inner-epochs 1 --no-leave-dominated --keep last --run copy --no-report").code,
            0);
  const auto percent = [&](const std::string& arguments) {
    const test::Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("accuracy").get<double>();
  };
  const double known = percent("evaluate copy --data png/street/train --json");
  EXPECT_NEAR(percent("evaluate copy --data labels.txt --json"), known, 1e-9);
  for (const std::string labels : {"png/street/train", "labels.txt"}) {
    const test::Outcome outcome = run("report copy --embedded-rounds 0 --out labelled.html --labels " + labels);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json rounds = data_of(test::file_text(folder_ / "labelled.html")).at("rounds");
    EXPECT_NEAR(100 * rounds.back().at("accuracy").at("mixture").get<double>(), known, 1e-9) << labels;
  }

  // The oracle of either is the same.
  for (const std::string labels : {"png/street/train", "labels.txt"}) {
    const std::string name = labels == "labels.txt" ? "list" : "folders";
    const test::Outcome outcome =
        run(sources + "--rounds 1 --inner-epochs 1 --no-report --oracle-labels " + labels + " --run " + name);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_EQ(test::file_text(folder_ / "list/predictions.csv"), test::file_text(folder_ / "folders/predictions.csv"));

  const test::Outcome others = run(sources + "--oracle-labels png/postal/train --run others");
  EXPECT_EQ(others.code, 2);
  EXPECT_THAT(others.err, HasSubstr("png/postal/train has no label for 40 of the 40 pictures of target"));

  // A gallery of other pictures would be wrong, too.
  fs::rename(folder_ / "target/0.png", folder_ / "target/99.png");
  const test::Outcome moved = run("report copy --embedded-rounds 0");
  EXPECT_EQ(moved.code, 2);
  EXPECT_THAT(moved.err,
              HasSubstr("target no longer holds the pictures of the run (40 now, 40 then), first target/0.png"));
  EXPECT_EQ(run("report copy --embedded-rounds 0 --no-pictures --labels png/street/train").code, 2);
}

TEST_F(ReportJourney, ErrorsAreOneSentence) {
  ASSERT_EQ(run(adapt() + "--no-history").code, 0);
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const test::Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
  };
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/report.html"));
  refused("report run", "run has no history; run tributary adapt with --history");
  refused("report nowhere", "nowhere");
  ASSERT_EQ(run(adapt("again") + "--no-report").code, 0);
  const std::string metrics = test::file_text(folder_ / "again/metrics.jsonl");
  folder_.write("again/metrics.jsonl", metrics.substr(0, metrics.size() - 20));  // as of a run that was killed
  EXPECT_EQ(run("report again").code, 0);
  folder_.write("again/metrics.jsonl", metrics.substr(20));
  refused("report again", "metrics.jsonl is damaged in line 1");
  folder_.write("again/metrics.jsonl", metrics);
  refused("report again --labels data/street/test-images.idx",
          "has no label for 60 of the 60 pictures of data/street/train-images.idx, by name or content");
  refused("report again --figure pie", "--figure pie: there is only tsne");
}

}  // namespace
}  // namespace tributary
