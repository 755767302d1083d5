// Every method, interrupted between two steps and resumed from a checkpoint, gives the result of an uninterrupted run.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/methods/selective/selective.h"

namespace tributary {
namespace {

using test::Recorder;

constexpr int64_t kResumePictures = 10, kResumeBatch = 4;

// Saves the state at opportunity `at` and stops there; counts the opportunities.
class Interrupting : public Checkpointer {
 public:
  Interrupting(std::string file, int64_t at) : file_(std::move(file)), at_(at) {}
  void save_if_due(const Take& take) override {
    if (chances++ != at_) return;
    write_checkpoint(file_, take());
    throw Interrupted(SIGTERM);
  }
  void keep(const Take& take) override { write_checkpoint(file_, take()); }
  int64_t chances = 0;

 private:
  std::string file_;
  int64_t at_;
};

class Resuming : public Checkpointer {
 public:
  explicit Resuming(const std::string& file) : found_(read_checkpoint(file)) {}
  const Checkpoint* resume_point() override { return &found_; }

 private:
  Checkpoint found_;
};

struct Case {
  std::string name, method, options;
};

class Resume : public ::testing::TestWithParam<Case> {
 protected:
  // Runs the method on fresh sources and returns the last round and the resulting models.
  std::pair<RoundEvent, NamedTensors> adapted(Checkpointer& checkpointer) const {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    Recorder recorder;
    method()->adapt(ensemble, test::noise_pictures(kResumePictures), recorder, checkpointer);
    return {recorder.rounds.back(), copy_of(ensemble.state())};
  }

  std::unique_ptr<Method> method() const {
    if (GetParam().method == "selective") {
      SelectiveOptions options;
      options.rounds = 2;
      options.inner_epochs = 1;
      options.batch = kResumeBatch;
      options.alignment.momentum = 0.5;
      if (GetParam().options == "ingredients") {
        apply_variant(options, Variant::kTributary);
        options.leave_dominated = false;
        options.per_class = options.sample_weights = true;
        options.label_balance = 0.5;
        options.score_memory = 0.3;
        options.model_average = 0.4;
        options.cross_labels = true;
        options.aggregation.start = WeightStart::kAgreement;
        options.final_share = 0.9;
      }
      GivenLabels given;
      if (GetParam().options == "given labels") given = {torch::tensor({2, 7}), torch::tensor({3, 0})};
      return std::make_unique<SelectiveSelfTraining>(options, given);
    }
    for (const MethodEntry& entry : registered_methods()) {
      if (entry.name != GetParam().method) continue;
      OptionTable table;
      entry.declare(table);
      table.read_toml_text(GetParam().options, "options.toml");
      table.apply_toml();
      MethodOptions options = test::quick();
      options.batch = kResumeBatch;
      return entry.make(options);
    }
    throw std::logic_error("no method " + GetParam().method);
  }
};

TEST_P(Resume, MatchesAnUninterruptedRun) {
  const test::TempDir folder;
  const std::string file = folder / "kept.safetensors";
  Interrupting never("", -1);
  const auto [whole, whole_models] = adapted(never);
  const int64_t chances = never.chances;
  ASSERT_GT(chances, 6);
  for (const int64_t at : {int64_t{1}, chances / 2, chances - 1}) {
    SCOPED_TRACE("interrupted at " + std::to_string(at) + " of " + std::to_string(chances));
    Interrupting interrupting(file, at);
    ASSERT_THROW(adapted(interrupting), Interrupted);
    Resuming resuming(file);
    const auto [last, models] = adapted(resuming);
    EXPECT_EQ(last.round, whole.round);
    EXPECT_EQ(last.means, whole.means);
    EXPECT_EQ(last.losses.cross_entropy, whole.losses.cross_entropy);
    EXPECT_EQ(last.losses.discriminator, whole.losses.discriminator);
    EXPECT_EQ(last.pictures, whole.pictures);
    EXPECT_EQ(last.initial_confident, whole.initial_confident);
    EXPECT_TRUE(torch::equal(last.probabilities, whole.probabilities));
    ASSERT_EQ(models.size(), whole_models.size());
    for (size_t i = 0; i < models.size(); ++i)
      EXPECT_TRUE(torch::equal(models[i].value, whole_models[i].value)) << models[i].name;
  }
}

// Interrupted by the report of round 1.
struct Impatient : Recorder {
  void on_round(const RoundEvent& event) override {
    if (event.round == 1) throw Interrupted(SIGINT);
    Recorder::on_round(event);
  }
};

// One method of each kind.
class ResumeReport : public Resume {};
INSTANTIATE_TEST_SUITE_P(Methods, ResumeReport,
                         ::testing::Values(Case{"selective", "selective", ""}, Case{"shot", "shot", ""},
                                           Case{"decision", "decision", ""}),
                         [](const auto& info) { return info.param.name; });

TEST_P(ResumeReport, RepeatsAnInterruptedReport) {
  const test::TempDir folder;
  Interrupting never(folder / "kept.safetensors", -1);
  const auto [whole, whole_models] = adapted(never);
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  Impatient impatient;
  ASSERT_THROW(method()->adapt(ensemble, test::noise_pictures(kResumePictures), impatient, never), Interrupted);
  Resuming resuming(folder / "kept.safetensors");
  Ensemble again = test::small_ensemble({"lenet", "dtn"});
  Recorder recorder;
  method()->adapt(again, test::noise_pictures(kResumePictures), recorder, resuming);
  EXPECT_EQ(recorder.rounds.front().round, 1);
  EXPECT_EQ(recorder.rounds.size(), 2u);
  EXPECT_TRUE(torch::equal(recorder.rounds.back().probabilities, whole.probabilities));
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Resume,
    ::testing::Values(Case{"selective", "selective", ""}, Case{"selective_ingredients", "selective", "ingredients"},
                      Case{"selective_given_labels", "selective", "given labels"}, Case{"shot", "shot", ""},
                      Case{"bait", "bait", ""}, Case{"nrc", "nrc", ""},
                      Case{"aad", "aad", "[aad]\naad_neighbours = 3\naad_later_neighbours = 2\n"},
                      Case{"cowa", "cowa", "[cowa]\ncowa_warm_up = 0\n"},
                      Case{"cowa_soft_labels", "cowa", "[cowa]\ncowa_alpha = 0.0\ncowa_warm_up = 0\n"},
                      Case{"decision", "decision", ""}, Case{"caida", "caida", ""},
                      Case{"sfda", "sfda", "[sfda]\nsfda_refresh = 2\n"},
                      Case{"sfda_training_memory", "sfda", "[sfda]\nsfda_refresh = 3\nsfda_memory_training = true\n"},
                      Case{"ma", "ma", ""},
                      Case{"ma_features", "ma", "[ma]\nma_space = \"feature\"\nma_optimiser = \"adam\"\n"}),
    [](const auto& info) { return info.param.name; });

TEST(ResumeWithOthers, IsRefused) {
  const test::TempDir folder;
  const std::string file = folder / "kept.safetensors";
  SelectiveOptions options;
  options.rounds = 1;
  options.inner_epochs = 1;
  options.batch = 8;
  SelectiveSelfTraining method(options);
  Recorder recorder;
  Ensemble ensemble = test::small_ensemble({"lenet"});
  Interrupting interrupting(file, 1);
  ASSERT_THROW(method.adapt(ensemble, test::noise_pictures(20), recorder, interrupting), Interrupted);
  Resuming resuming(file);
  EXPECT_THROW(method.adapt(ensemble, test::noise_pictures(21), recorder, resuming), InputError);
  Ensemble other = test::small_ensemble({"dtn"});
  EXPECT_THROW(method.adapt(other, test::noise_pictures(20), recorder, resuming), InputError);
}

}  // namespace
}  // namespace tributary
