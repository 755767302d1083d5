#include "tributary/run/adaptation_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/run/run_files.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/checkpoint/checkpoint.h"
#include "tributary/io/npy_file.h"
#include "tributary/run/predictions.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MethodEntry method_named(const std::string& name) {
  for (const MethodEntry& entry : registered_methods())
    if (entry.name == name) return entry;
  throw std::logic_error("no method " + name);
}

// Two small sources and a target of 24 digits.
class AdaptationRunTest : public ::testing::Test {
 protected:
  AdaptationRunTest() {
    options_.sources = {test::write_source(folder_, "lenet", 1), test::write_source(folder_, "lenet", 2)};
    options_.target = test::write_digits(folder_, "target", DigitDomain::kPostal, 24);
    options_.folder = folder_ / "run";
    options_.method = method_named("shot");
    options_.method_options.epochs = 2;
    options_.method_options.batch = options_.batch = 8;
    options_.outputs.page = options_.outputs.history = false;
  }

  std::optional<AdaptationRunResult> run(const std::string& config = "seed = 0\n") {
    return AdaptationRun(options_, config, session_, listener_).run();
  }
  // Runs until the second round is reported, and saves after every step.
  void interrupt() {
    options_.checkpoints.every = 0;
    listener_.on_round = [](const RoundEvent& event) {
      if (event.round == 2) throw std::runtime_error("power cut");
    };
    EXPECT_THROW(run(), std::runtime_error);
    listener_.on_round = nullptr;
  }
  // The path of the latest checkpoint, after the other one was removed.
  std::string latest_checkpoint() const {
    const std::string one = options_.folder + "/checkpoint/0.safetensors";
    const std::string other = options_.folder + "/checkpoint/1.safetensors";
    const bool first = read_checkpoint(one).integer("number") > read_checkpoint(other).integer("number");
    std::filesystem::remove(first ? other : one);
    return first ? one : other;
  }
  std::string file(const std::string& name) const { return read_text(options_.folder + "/" + name); }

  test::TempDir folder_;
  AdaptationRunOptions options_;
  DistributedSession session_;
  test::RecordingListener listener_;
};

TEST_F(AdaptationRunTest, FillsTheRunFolder) {
  options_.test = options_.target;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->already_finished);
  EXPECT_EQ(result->summary.at("method"), "shot");
  EXPECT_EQ(result->summary.at("accuracy").at("rounds").size(), 3u);
  for (const char* name :
       {"config.toml", "metrics.jsonl", "model.safetensors", "predictions.csv", "summary.json", "DONE"})
    EXPECT_TRUE(std::filesystem::exists(options_.folder + "/" + name)) << name;
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/checkpoint"));
  EXPECT_EQ(listener_.trained, 1);
}

TEST_F(AdaptationRunTest, AFinishedRunIsNotRepeated) {
  const auto first = run();
  const std::string metrics = file("metrics.jsonl");
  const auto again = run();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->already_finished);
  EXPECT_EQ(again->summary, first->summary);
  EXPECT_EQ(file("metrics.jsonl"), metrics);
  EXPECT_THROW(run("seed = 1\n"), InputError);
}

TEST_F(AdaptationRunTest, ResumesAfterAFailureWithTheSameResult) {
  options_.checkpoints.every = 0;
  run();
  const std::string whole = file("predictions.csv");
  options_.folder = folder_ / "cut";
  listener_.on_round = [](const RoundEvent& event) {
    if (event.round == 2) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(options_.folder + "/checkpoint"));
  listener_.on_round = nullptr;
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.resumed, ElementsAre(2));
  EXPECT_EQ(file("predictions.csv"), whole);
}

TEST_F(AdaptationRunTest, RejectsResumingWithOtherPictures) {
  options_.checkpoints.every = 0;
  listener_.on_round = [](const RoundEvent& event) {
    if (event.round == 2) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run(), std::runtime_error);
  listener_.on_round = nullptr;
  options_.target = test::write_digits(folder_, "target", DigitDomain::kPostal, 30);
  try {
    run();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("interrupted with 24 pictures, and now there are 30"));
  }
}

TEST_F(AdaptationRunTest, RejectsResumingWithOtherPicturesOfTheSameNumber) {
  interrupt();
  test::write_digits(folder_, "target", DigitDomain::kPostal, 24, /*seed=*/2);
  EXPECT_THAT(test::message_of<InputError>([&] { run(); }), HasSubstr("have changed since the run was interrupted"));
}

TEST_F(AdaptationRunTest, RejectsResumingWithOtherScores) {
  const auto write_scores = [&](float first) {
    std::vector<float> values(24 * 10, 0.1F);
    values[0] = first;
    folder_.write("clinic.npy", npy_text(values, 24, 10));
  };
  write_scores(0.1F);
  options_.method = method_named("selective");
  OptionTable table;
  options_.method.declare(table);
  table.read_toml_text("[adapt]\nleave_dominated = false\nrounds = 3\nweight_steps = 5\n", "test.toml");
  table.apply_toml();
  options_.sources = {options_.sources[0], folder_ / "clinic.npy"};
  interrupt();
  write_scores(0.105F);
  EXPECT_THAT(test::message_of<InputError>([&] { run(); }),
              HasSubstr("clinic.npy have changed since the run was interrupted; start over with --restart"));
  write_scores(0.1F);
  EXPECT_TRUE(run());
}

// Checkpoints with a valid checksum and one value that does not belong there.
TEST_F(AdaptationRunTest, RejectsForgedCheckpoints) {
  options_.keep = KeepRule::kLabelFree;
  options_.test = options_.target;
  for (const std::string name : {"shot", "selective"}) {
    options_.method = method_named(name);
    options_.folder = folder_ / name;
    OptionTable table;
    options_.method.declare(table);
    if (name == "selective") table.read_toml_text("[adapt]\nleave_dominated = false\n", "test.toml");
    table.apply_toml();
    interrupt();
    const std::string path = latest_checkpoint();
    const Checkpoint good = read_checkpoint(path);
    int64_t forged = 0;
    const auto expect_refusal = [&](const Checkpoint& bad, const std::string& what) {
      write_checkpoint(path, bad);
      EXPECT_THAT(test::message_of<InputError>([&] { run(); }), HasSubstr("--restart")) << name << " " << what;
      ++forged;
    };
    // Every fact, also within the observers' state: of another type, and a number that is too large.
    const nlohmann::json facts = good.facts().flatten();
    for (const auto& [pointer, value] : facts.items()) {
      const bool text = pointer.find("config") != std::string::npos || pointer.find("/reasons") != std::string::npos;
      const std::string last = pointer.substr(pointer.rfind('/') + 1);
      const bool repeated = last.find_first_not_of("0123456789") == std::string::npos && last != "0";
      if (text || repeated || pointer == "/number") continue;
      Checkpoint other = good;
      other.facts()[nlohmann::json::json_pointer(pointer)] = {{"an", "object"}};
      expect_refusal(other, pointer);
      if (!value.is_number_integer() || pointer == "/pictures" || pointer.ends_with("settled")) continue;
      other.facts()[nlohmann::json::json_pointer(pointer)] = INT64_MAX;
      expect_refusal(other, pointer);
    }
    for (const char* list : {"first_labels", "information_loss", "accuracy"}) {
      Checkpoint other = good;
      other.facts()["observers"][list] = nlohmann::json::array();
      expect_refusal(other, list);
    }
    // Every tensor of indices with one beyond all bounds, and every tensor with another shape.
    for (size_t i = 0; i < good.tensors.size(); ++i) {
      Checkpoint other = good;
      const Tensor value = good.tensors[i].value;
      if (value.scalar_type() != torch::kInt64 && i % 9 != 0) continue;  // many weights alike
      other.tensors[i].value = at::cat({value.flatten(), value.flatten(), torch::zeros({1}, value.options())});
      expect_refusal(other, good.tensors[i].name + " of another shape");
      const bool counter = good.tensors[i].name.find("num_batches_tracked") != std::string::npos ||
                           good.tensors[i].name.find("steps") != std::string::npos;
      if (value.scalar_type() != torch::kInt64 || value.numel() == 0 || counter) continue;
      other.tensors[i].value = torch::full_like(value, INT64_MAX);
      expect_refusal(other, good.tensors[i].name);
    }
    EXPECT_GT(forged, 40);
    write_checkpoint(path, good);
    EXPECT_TRUE(run());
  }
}

TEST_F(AdaptationRunTest, RecomputesActivationsAndThenTakesMicroBatchesWhenTheGpuIsOutOfMemory) {
  int failures = 0;
  listener_.on_round = [&](const RoundEvent& event) {
    if (event.round != 1 || failures == 3) return;
    ++failures;
    throw std::runtime_error("CUDA out of memory");
  };
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_THAT(listener_.retried, ElementsAre(PassMemory{Recompute::kWaiting}, PassMemory{Recompute::kAll},
                                             PassMemory{Recompute::kAll, 4}));
  EXPECT_EQ(result->summary.at("recompute"), "all");
  EXPECT_EQ(result->summary.at("micro_batch"), 4);
}

TEST_F(AdaptationRunTest, RecomputesActivationsFromTheStartIfAsked) {
  options_.recompute = Recompute::kAll;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->summary.at("recompute"), "all");
  EXPECT_FALSE(result->summary.contains("micro_batch"));
}

TEST_F(AdaptationRunTest, RefusesRecomputationForMethodsThatNeedGradientsOfTheirInput) {
  options_.method = method_named("ma");
  options_.recompute = Recompute::kAll;
  EXPECT_THAT([&] { run(); }, testing::ThrowsMessage<InputError>(testing::HasSubstr("leave out --recompute")));
}

TEST_F(AdaptationRunTest, RetriesEveryMethodThatSupportsRecomputation) {
  for (const std::string name : {"nrc", "aad", "cowa"}) {
    options_.method = method_named(name);
    options_.folder = folder_ / name;
    listener_.retried.clear();
    bool is_first = true;
    listener_.on_round = [&](const RoundEvent& event) {
      if (event.round != 1 || !is_first) return;
      is_first = false;
      throw std::runtime_error("CUDA out of memory");
    };
    const auto result = run();
    ASSERT_TRUE(result) << name;
    EXPECT_THAT(listener_.retried, ElementsAre(PassMemory{Recompute::kWaiting})) << name;
  }
}

// Three equal sources, so that the witnesses agree, and rates that wreck the first rounds.
class WreckedRunTest : public AdaptationRunTest {
 protected:
  WreckedRunTest() {
    const std::string source = options_.sources[0];
    options_.sources = {source, source + ":name=second", source + ":name=third"};
    options_.test = options_.target;
    options_.keep = KeepRule::kLabelFree;
    options_.method_options.epochs = 5;
    options_.method_options.rate_backbone = options_.method_options.rate_bottleneck = 2;
    options_.checkpoints.every = 0;
  }

  // The predictions of the run's model file.
  std::string predictions_of_model(const nlohmann::json& summary) const {
    Ensemble model = load_ensemble(options_.folder + "/model.safetensors");
    LoadOptions load;
    load.preprocessing = model.preprocessing();
    const ImageSet target = load_images(options_.target, load);
    const Tensor logits = evaluate_logits(model, DeviceImages(target, torch::kCPU));
    PredictedLabels predictions = predicted_labels(combine(logits, model.mixture), logits, model.known());
    predictions.check =
        predictions.confidence.to(torch::kFloat64) < summary.at("confidence").at("check_below").get<double>();
    return predictions_text(target, {}, model, predictions, PredictionFormat::kCsv);
  }
};

TEST_F(WreckedRunTest, KeepsAnEarlierRound) {
  const auto result = run();
  ASSERT_TRUE(result);
  const nlohmann::json& summary = result->summary;
  const auto kept = summary.at("kept").at("round").get<int64_t>();
  EXPECT_LT(kept, 2) << summary.dump();
  EXPECT_FALSE(summary.at("kept").at("rejected").empty());
  EXPECT_EQ(summary.at("stopped").at("reason"), "the last two rounds were rejected");
  EXPECT_LT(summary.at("accuracy").at("rounds").size(), 6u) << "it stops early";
  EXPECT_EQ(summary.at("accuracy").at("kept").at("round"), kept);
  EXPECT_EQ(summary.at("accuracy").at("kept").at("accuracy"),
            summary.at("accuracy").at("rounds")[static_cast<size_t>(kept)]);
  EXPECT_FALSE(summary.contains("collapse")) << "the kept round has not collapsed";
  EXPECT_EQ(file("predictions.csv"), predictions_of_model(summary));
  if (kept == 0) {
    EXPECT_EQ(summary.at("changed_share"), 0);
  }
}

TEST_F(WreckedRunTest, LastHandsBackTheWreck) {
  options_.keep = KeepRule::kAuto;
  const auto result = run();
  ASSERT_TRUE(result);
  const nlohmann::json& verdict = result->summary.at("verdict");
  EXPECT_EQ(verdict.at("decision"), "do not use") << result->summary.dump();
  EXPECT_EQ(verdict.at("unadapted_model"), options_.folder + "/unadapted.safetensors");
  EXPECT_TRUE(std::filesystem::exists(options_.folder + "/unadapted.safetensors"));
  EXPECT_FALSE(result->summary.contains("kept"));
  EXPECT_EQ(result->summary.at("accuracy").at("rounds").size(), 6u);
  EXPECT_EQ(file("predictions.csv"), predictions_of_model(result->summary));
  options_.folder = folder_ / "by-default";
  options_.method.default_keep = [] { return KeepRule::kLabelFree; };
  EXPECT_TRUE(run()->summary.contains("kept")) << "a method may have another default";
}

TEST_F(WreckedRunTest, ResumesAndRetriesWithTheSameDecision) {
  const auto whole = run();
  const std::string predictions = file("predictions.csv"), model = file("model.safetensors");
  const auto last = static_cast<int64_t>(whole->summary.at("accuracy").at("rounds").size()) - 1;
  for (const int64_t at : {int64_t{1}, last})
    for (const char* failure : {"power cut", "CUDA out of memory"}) {
      SCOPED_TRACE(fmt::format("{} in round {}", failure, at));
      options_.folder = folder_ / fmt::format("{}-{}", failure, at);
      bool is_first = true;
      listener_.on_round = [&](const RoundEvent& event) {
        if (event.round == at && std::exchange(is_first, false)) throw std::runtime_error(failure);
      };
      if (std::string(failure) == "power cut") {
        EXPECT_THROW(run(), std::runtime_error);
      }
      const auto resumed = run();
      ASSERT_TRUE(resumed);
      EXPECT_EQ(resumed->summary.at("kept"), whole->summary.at("kept"));
      EXPECT_EQ(resumed->summary.at("stopped"), whole->summary.at("stopped"));
      EXPECT_EQ(resumed->summary.at("accuracy"), whole->summary.at("accuracy"));
      EXPECT_EQ(file("predictions.csv"), predictions);
      EXPECT_TRUE(file("model.safetensors") == model);
    }
}

TEST_F(AdaptationRunTest, LogsRankingScoresAndWitnesses) {
  run();
  std::istringstream lines(file("metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json round = nlohmann::json::parse(line);
    for (const char* name :
         {"agreement_with_mean", "mutual_information", "neighbourhood_density", "class_correlation", "mano"})
      EXPECT_TRUE(round.at("ranking_scores").at(name).is_number()) << name;
    for (const char* name : {"agreement", "bar", "kappa", "doubtful_share"})
      EXPECT_TRUE(round.at("witness").at(name).is_number()) << name;
  }
}

TEST_F(AdaptationRunTest, RunsTheOracleOfSelective) {
  options_.method = method_named("selective");
  options_.oracle_labels = options_.target;
  options_.method_options.epochs = 0;
  OptionTable table;
  options_.method.declare(table);
  table.read_toml_text("[adapt]\nrounds = 1\ninner_epochs = 1\nweight_steps = 5\n", "test.toml");
  table.apply_toml();
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->summary.at("method"), "selective-oracle");
}

TEST_F(AdaptationRunTest, ReportsSkippedPicturesAndNeedsTwo) {
  folder_.write("photos/bad.png", "no picture");
  options_.target = folder_ / "photos";
  options_.load.max_bad_share = 1;
  EXPECT_THROW(run(), InputError);
  EXPECT_FALSE(std::filesystem::exists(options_.folder)) << "no file before the data was checked";
}

TEST_F(AdaptationRunTest, EstimatesTheAccuracyWithoutLabels) {
  options_.sources[1] = options_.sources[0] + ":name=second";  // two that agree
  const nlohmann::json without = run()->summary;
  for (const char* when : {"before", "after"}) {
    const nlohmann::json& estimate = without.at("estimate").at(when);
    EXPECT_LE(estimate.at("low"), estimate.at("accuracy"));
    EXPECT_GE(estimate.at("high"), estimate.at("accuracy"));
  }
  const nlohmann::json& verdict = without.at("verdict");
  EXPECT_NE(verdict.at("decision"), "use") << "two sources are too few";
  EXPECT_GE(verdict.at("reasons").size(), 1u);
  EXPECT_EQ(verdict.at("decision") == "do not use", verdict.contains("unadapted_model"));
  EXPECT_FALSE(without.at("confidence").contains("calibration_error"));
  // The stored temperature makes the mean confidence the estimated accuracy.
  const Ensemble model = load_ensemble(options_.folder + "/model.safetensors");
  EXPECT_EQ(model.mixture.temperature, without.at("confidence").at("temperature"));
  EXPECT_NEAR(without.at("confidence").at("mean").get<double>(),
              without.at("estimate").at("after").at("accuracy").get<double>(), 0.1);
  // Labels only measure.
  options_.test = options_.target;
  options_.folder = folder_ / "tested";
  const nlohmann::json tested = run()->summary;
  EXPECT_EQ(tested.at("estimate"), without.at("estimate"));
  EXPECT_EQ(tested.at("verdict").at("decision"), verdict.at("decision"));
  EXPECT_EQ(tested.at("verdict").at("reasons"), verdict.at("reasons"));
  EXPECT_TRUE(tested.at("confidence").contains("calibration_error"));
}

TEST_F(AdaptationRunTest, LeavesEachSourceOutForTheFullEstimate) {
  const std::string source = options_.sources[0];  // they agree, so that they can be witnesses
  options_.sources = {source, source + ":name=second", source + ":name=third"};
  options_.method = method_named("decision");
  options_.method_options.epochs = 1;
  options_.estimate.kind = EstimateKind::kFull;
  listener_.on_round = [](const RoundEvent& event) {
    if (event.ensemble->size() == 3) throw std::runtime_error("power cut");
  };
  EXPECT_THROW(run(), std::runtime_error);
  for (const char* left_out : {"without-1", "without-2", "without-3"})
    EXPECT_TRUE(std::filesystem::exists(options_.folder + "/estimate/" + left_out + "/DONE")) << left_out;
  int adaptations = 0;  // that start anew
  listener_.on_round = [&](const RoundEvent& event) { adaptations += event.round == 0 ? 1 : 0; };
  const auto result = run();
  EXPECT_EQ(adaptations, 1) << "those without a source were finished";
  EXPECT_EQ(result->summary.at("estimate").at("how"), "left-out sources") << result->summary.dump();
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/estimate"));
}

TEST_F(AdaptationRunTest, SourcesThatWereAdaptedTogetherGiveNoEstimate) {
  options_.sources[1] = options_.sources[0] + ":name=second";  // two that agree
  options_.estimate.adapted_sources = true;
  options_.estimate.kind = EstimateKind::kFull;
  const nlohmann::json summary = run()->summary;
  EXPECT_TRUE(summary.at("estimate").at("after").is_null());
  EXPECT_EQ(summary.at("verdict").at("decision"), "check");
  EXPECT_THAT(summary.at("verdict").at("reasons")[0].get<std::string>(), HasSubstr("adapted together before"));
  EXPECT_EQ(load_ensemble(options_.folder + "/model.safetensors").mixture.temperature, 1);
}

TEST_F(AdaptationRunTest, LeavesNoSourceOutThatOthersNeed) {
  SourceModel other(test::small_info("lenet", 3), Random(3));
  ModelInfo info = other.info();
  info.name = "other";
  info.classes = {"0", "1", "alone"};
  save_source(folder_ / "other.safetensors", SourceModel(info, Random(3)));
  options_.sources.push_back(folder_ / "other.safetensors");
  options_.method = method_named("selective");
  options_.estimate.kind = EstimateKind::kFull;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->summary.at("estimate").at("how"), "agreement");
  EXPECT_THAT(listener_.warnings, testing::Contains(HasSubstr("estimate: without other the others lack a class")));
}

}  // namespace
}  // namespace tributary
