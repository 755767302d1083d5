// Checkpointer on disk: what is written is read again, and what is damaged is never taken for whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/checkpoint/checkpointer.h"
#include "tributary/train/distillation.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

Checkpoint some(int64_t number) {
  Checkpoint checkpoint;
  checkpoint.facts = {{"step", number}, {"text", "a \"quoted\" ü"}};
  checkpoint.tensors = {{"a", torch::arange(6, torch::kFloat32).view({2, 3}) + number},
                        {"b", torch::tensor(int64_t{7})},
                        {"c", torch::tensor(1.5, torch::kFloat64)},
                        {"empty", torch::zeros({0}, torch::kInt64)}};
  return checkpoint;
}

TEST(Checkpoint, ReadsWhatWasWritten) {
  const test::TempDir folder;
  write_checkpoint(folder / "x", some(3));
  const Checkpoint read = read_checkpoint(folder / "x");
  EXPECT_EQ(read.facts, some(3).facts);
  for (const NamedTensor& tensor : some(3).tensors) EXPECT_TRUE(torch::equal(read.at(tensor.name), tensor.value));
  EXPECT_EQ(read.find("z"), nullptr);
}

TEST(Checkpoint, EveryFlippedByteIsNoticed) {
  const test::TempDir folder;
  write_checkpoint(folder / "x", some(3));
  const std::vector<uint8_t> whole = test::read_bytes(folder / "x");
  const Checkpoint right = read_checkpoint(folder / "x");
  int64_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<uint8_t> bytes = whole;
    bytes[i] ^= 0x10;
    folder.write("y", bytes);
    try {
      const Checkpoint read = read_checkpoint(folder / "y");
      // What is left are bytes that mean nothing, such as the padding of the header.
      EXPECT_EQ(read.facts, right.facts) << i;
      for (const NamedTensor& tensor : right.tensors)
        EXPECT_TRUE(torch::equal(read.at(tensor.name), tensor.value)) << i;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, static_cast<int64_t>(whole.size()) * 9 / 10);
  for (size_t length = 0; length < whole.size(); length += 7) {
    folder.write("y", std::span(whole).first(length));
    EXPECT_THROW(read_checkpoint(folder / "y"), InputError) << length;
  }
}

TEST(Checkpoint, RestoresOnlyWhatFits) {
  const Checkpoint kept = some(0);
  const Tensor a = torch::zeros({2, 3}), b = torch::zeros({}, torch::kInt64);
  kept.restore("", {{"a", a}, {"b", b}});
  EXPECT_TRUE(torch::equal(a, kept.at("a")));
  EXPECT_EQ(b.item<int64_t>(), 7);
  EXPECT_THROW(kept.restore("", {{"a", torch::zeros({3, 2})}}), InputError);
  EXPECT_THROW(kept.restore("", {{"a", torch::zeros({2, 3}, torch::kFloat64)}}), InputError);
  EXPECT_THROW(kept.restore("x.", {{"a", a}}), InputError);
}

TEST(CheckpointFolder, TakesTheLatestAndFallsBackToTheOneBefore) {
  const test::TempDir folder;
  const std::string place = folder / "checkpoint";
  {
    CheckpointFolder writing(place, {0, false});
    EXPECT_EQ(writing.resume_point(), nullptr);
    for (int64_t i = 1; i <= 5; ++i) writing.save_if_due([&] { return some(i); });
    EXPECT_THROW(writing.save_if_due([]() -> Checkpoint { work_error("not finite"); }), WorkError);
  }
  CheckpointFolder latest(place, {0, false});
  ASSERT_NE(latest.resume_point(), nullptr);
  EXPECT_EQ(latest.resume_point()->integer("step"), 5);

  // The fifth went to slot 0.
  std::filesystem::resize_file(place + "/0.safetensors", 100);
  CheckpointFolder before(place, {0, false});
  ASSERT_NE(before.resume_point(), nullptr);
  EXPECT_EQ(before.resume_point()->integer("step"), 4);
  // And writing goes on in the damaged one.
  before.save_if_due([&] { return some(6); });
  EXPECT_EQ(CheckpointFolder(place, {0, false}).resume_point()->integer("step"), 6);
  EXPECT_EQ(read_checkpoint(place + "/1.safetensors").integer("step"), 4);

  for (const char* slot : {"/0.safetensors", "/1.safetensors"}) std::filesystem::resize_file(place + slot, 100);
  CheckpointFolder damaged(place, {0, false});
  EXPECT_THAT(test::message_of<WorkError>([&] { damaged.resume_point(); }), HasSubstr("--restart"));
  CheckpointFolder anew(place, {0, true});
  anew.clean();
  EXPECT_EQ(anew.resume_point(), nullptr);
  anew.remove();
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(CheckpointFolder, WaitsUntilItIsTime) {
  const test::TempDir folder;
  CheckpointFolder patient(folder / "checkpoint", {1000, false});
  patient.save_if_due([]() -> Checkpoint { throw std::logic_error("too early"); });
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint"));
}

TEST(FileCheckpoints, RefuseOtherWorkAndForgetItWhenTold) {
  const test::TempDir folder;
  const std::string out = folder / "model.safetensors";
  {
    FileCheckpoints first(out, "rate = 1.0\n", {0, false});
    first.checkpointer().save_if_due([] { return some(1); });
  }
  EXPECT_THAT(test::message_of<InputError>([&] {
                FileCheckpoints(out, "rate = 2.0\n", {0, false});
              }),
              ::testing::AllOf(HasSubstr("rate"), HasSubstr("1.0"), HasSubstr("2.0"), HasSubstr("--restart")));
  {
    FileCheckpoints same(out, "rate = 1.0\n", {0, false});
    ASSERT_NE(same.checkpointer().resume_point(), nullptr);
  }
  FileCheckpoints anew(out, "rate = 2.0\n", {0, true});
  EXPECT_EQ(anew.checkpointer().resume_point(), nullptr);
  anew.finish();
  EXPECT_FALSE(std::filesystem::exists(out + ".checkpoint"));
}

// Ends the work at a pass, and gives it back there.
class Once : public Checkpointer {
 public:
  Once(std::string file, int64_t crops) : file_(std::move(file)), cut_(crops) {}
  void save_if_due(const Take& take) override {
    if (kept_ || passes++ != cut_) return;
    write_checkpoint(file_, take());
    throw Interrupted(SIGINT);
  }
  const Checkpoint* resume_point() override {
    if (cut_ >= 0 && passes > cut_) kept_ = read_checkpoint(file_);
    return kept_ ? &*kept_ : nullptr;
  }
  int64_t passes = 0;

 private:
  std::string file_;
  int64_t cut_;
  std::optional<Checkpoint> kept_;
};

// `work(checkpointer)` gives the state it ends with.
template <typename Work>
void expect_equal_wherever_cut(Work work) {
  const test::TempDir folder;
  Once never("", -1);
  const NamedTensors whole = work(never);
  for (int64_t crops = 0; crops < never.passes; crops += 3) {
    SCOPED_TRACE(crops);
    Once once(folder / "kept", crops);
    ASSERT_THROW(work(once), Interrupted);
    const NamedTensors state = work(once);
    for (size_t i = 0; i < state.size(); ++i)
      EXPECT_TRUE(torch::equal(state[i].value, whole[i].value)) << state[i].name;
  }
}

LabelledImages labelled(int64_t count) {
  LabelledImages data{test::noise_pictures(count), {numbered_classes(10), {}}};
  for (int64_t i = 0; i < count; ++i) data.labels.values.push_back(i % 10);
  return data;
}

TEST(SourceTraining, GoesOnWhereItWasInterrupted) {
  const LabelledImages training = labelled(20), validation = labelled(10);
  SourceTrainingOptions options;
  options.epochs = 4;
  options.batch = 8;
  for (const KeptIterate kept : {KeptIterate::kBest, KeptIterate::kLast}) {
    options.keep = kept;
    expect_equal_wherever_cut([&](Checkpointer& checkpointer) {
      SourceModel model(test::small_info("dtn"), Random(1));
      train_source(model, training, validation, options, 5, checkpointer);
      return copy_of(model.state());
    });
  }
}

TEST(Distillation, GoesOnWhereItWasInterrupted) {
  const ImageSet images = test::noise_pictures(20);
  DistillationOptions options;
  options.epochs = 3;
  options.batch = 8;
  expect_equal_wherever_cut([&](Checkpointer& checkpointer) {
    Ensemble teachers = test::small_ensemble({"lenet", "lenet"});
    SourceModel student(test::small_info("dtn"), Random(7));
    distill(student, teachers, images, options, 5, checkpointer);
    return copy_of(student.state());
  });
}

}  // namespace
}  // namespace tributary
