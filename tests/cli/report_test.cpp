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
           "--rounds 2 --inner-epochs 1 --run " +
           run + " ";
  }

  test::TempDir folder_;
};

TEST_F(ReportJourney, RunWritesAReportAndLabelsGiveAnother) {
  const test::Outcome adapted = run(adapt() + "--live --tensorboard --points 30");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(adapted.out, HasSubstr("run/report.html"));
  const nlohmann::json data = data_of(test::file_text(folder_ / "run/report.html"));
  EXPECT_EQ(data.at("rounds").size(), 3u);
  EXPECT_EQ(data.at("pictures"), 60);
  EXPECT_EQ(data.at("embedding").at("sampled"), 30);
  EXPECT_EQ(data.at("finished"), true);
  EXPECT_TRUE(data.at("labels").is_null()) << "no labels were given";
  EXPECT_EQ(data.at("sources")[1].at("file"), "signs.safetensors");
  int curves = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run"))
    curves += entry.path().filename().string().starts_with("events.out.tfevents");
  EXPECT_EQ(curves, 1);

  const test::Outcome labelled =
      run("report run --labels data/street/train-images.idx --embedded-rounds 0 --out labelled.html");
  ASSERT_EQ(labelled.code, 0) << labelled.err;
  const nlohmann::json known = data_of(test::file_text(folder_ / "labelled.html"));
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
  refused("report again --labels data/street/test-images.idx", "has 20 labels for the 60 pictures");
  refused("report again --figure pie", "--figure pie: there is only tsne");
}

}  // namespace
}  // namespace tributary
