// Checkpoints on disk: round trips, detection of damage, and resuming training from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/checkpoint/checkpointer.h"
#include "tributary/train/distillation.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

Checkpoint sample_checkpoint(int64_t number) {
  Checkpoint checkpoint;
  checkpoint.facts() = {{"step", number}, {"text", "a \"quoted\" ü"}};
  checkpoint.tensors = {{"a", torch::arange(6, torch::kFloat32).view({2, 3}) + number},
                        {"b", torch::tensor(int64_t{7})},
                        {"c", torch::tensor(1.5, torch::kFloat64)},
                        {"empty", torch::zeros({0}, torch::kInt64)}};
  return checkpoint;
}

TEST(Checkpoint, RoundTrips) {
  const test::TempDir folder;
  write_checkpoint(folder / "x", sample_checkpoint(3));
  const Checkpoint read = read_checkpoint(folder / "x");
  EXPECT_EQ(read.facts(), sample_checkpoint(3).facts());
  for (const NamedTensor& tensor : sample_checkpoint(3).tensors)
    EXPECT_TRUE(torch::equal(read.at(tensor.name), tensor.value));
  EXPECT_EQ(read.find("z"), nullptr);
}

TEST(Checkpoint, MovesWithoutAllocating) {
  static_assert(std::is_nothrow_move_constructible_v<Checkpoint>);
  Checkpoint checkpoint = sample_checkpoint(3);
  const nlohmann::json* const facts = &checkpoint.facts();
  Checkpoint moved = std::move(checkpoint);
  EXPECT_EQ(&moved.facts(), facts) << "the facts were copied";
  checkpoint = moved;
  moved.facts()["step"] = 4;
  EXPECT_EQ(checkpoint.facts(), sample_checkpoint(3).facts());
}

TEST(Checkpoint, ChecksItsFacts) {
  Checkpoint checkpoint;
  checkpoint.facts() = {{"round", 3}, {"huge", INT64_MAX}, {"beyond", UINT64_MAX}, {"text", "x"}, {"real", 2.5}};
  EXPECT_EQ(checkpoint.integer("round", 1, 3), 3);
  EXPECT_EQ(checkpoint.number("real", 0), 2.5);
  EXPECT_EQ(checkpoint.number("absent", 7), 7);
  EXPECT_THROW(checkpoint.integer("round", 1, 2), InputError);
  for (const char* fact : {"huge", "beyond", "text", "real", "absent"})
    EXPECT_THROW(checkpoint.integer(fact), InputError) << fact;
  EXPECT_THROW(checkpoint.number("text", 0), InputError);
}

TEST(Checkpoint, LeavesForeignFilesAlone) {
  const test::TempDir folder;
  CheckpointFolder checkpoints(folder / "checkpoint", {0, false});
  checkpoints.keep([] { return sample_checkpoint(1); });
  folder.write("checkpoint/notes.txt", "x");
  folder.write("elsewhere/0.safetensors", "x");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "link");
  checkpoints.remove();
  CheckpointFolder(folder / "link", {0, false}).remove();
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint/0.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "checkpoint/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder / "elsewhere/0.safetensors"));
}

TEST(Checkpoint, DetectsEveryFlippedByte) {
  const test::TempDir folder;
  write_checkpoint(folder / "x", sample_checkpoint(3));
  const std::vector<uint8_t> whole = test::read_bytes(folder / "x");
  const Checkpoint right = read_checkpoint(folder / "x");
  int64_t rejected = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<uint8_t> bytes = whole;
    bytes[i] ^= 0x10;
    folder.write("y", bytes);
    try {
      const Checkpoint read = read_checkpoint(folder / "y");
      // The remaining bytes have no meaning, such as the padding of the header.
      EXPECT_EQ(read.facts(), right.facts()) << i;
      for (const NamedTensor& tensor : right.tensors)
        EXPECT_TRUE(torch::equal(read.at(tensor.name), tensor.value)) << i;
    } catch (const InputError&) {
      ++rejected;
    }
  }
  EXPECT_GT(rejected, static_cast<int64_t>(whole.size()) * 9 / 10);
  for (size_t length = 0; length < whole.size(); length += 7) {
    folder.write("y", std::span(whole).first(length));
    EXPECT_THROW(read_checkpoint(folder / "y"), InputError) << length;
  }
}

TEST(Checkpoint, RestoresOnlyMatchingTensors) {
  const Checkpoint checkpoint = sample_checkpoint(0);
  const Tensor a = torch::zeros({2, 3}), b = torch::zeros({}, torch::kInt64);
  checkpoint.restore("", {{"a", a}, {"b", b}});
  EXPECT_TRUE(torch::equal(a, checkpoint.at("a")));
  EXPECT_EQ(b.item<int64_t>(), 7);
  EXPECT_THROW(checkpoint.restore("", {{"a", torch::zeros({3, 2})}}), InputError);
  EXPECT_THROW(checkpoint.restore("", {{"a", torch::zeros({2, 3}, torch::kFloat64)}}), InputError);
  EXPECT_THROW(checkpoint.restore("x.", {{"a", a}}), InputError);
}

TEST(CheckpointFolder, FindsTheLatestAndFallsBackToThePrevious) {
  const test::TempDir folder;
  const std::string path = folder / "checkpoint";
  {
    CheckpointFolder writing(path, {0, false});
    EXPECT_EQ(writing.resume_point(), nullptr);
    for (int64_t i = 1; i <= 5; ++i) writing.save_if_due([&] { return sample_checkpoint(i); });
    EXPECT_THROW(writing.save_if_due([]() -> Checkpoint { work_error("non-finite loss"); }), WorkError);
  }
  CheckpointFolder latest(path, {0, false});
  ASSERT_NE(latest.resume_point(), nullptr);
  EXPECT_EQ(latest.resume_point()->integer("step"), 5);

  // The fifth checkpoint is in slot 0.
  std::filesystem::resize_file(path + "/0.safetensors", 100);
  CheckpointFolder fallback(path, {0, false});
  ASSERT_NE(fallback.resume_point(), nullptr);
  EXPECT_EQ(fallback.resume_point()->integer("step"), 4);
  // The next checkpoint overwrites the damaged one.
  fallback.save_if_due([&] { return sample_checkpoint(6); });
  EXPECT_EQ(CheckpointFolder(path, {0, false}).resume_point()->integer("step"), 6);
  EXPECT_EQ(read_checkpoint(path + "/1.safetensors").integer("step"), 4);

  for (const char* slot : {"/0.safetensors", "/1.safetensors"}) std::filesystem::resize_file(path + slot, 100);
  CheckpointFolder damaged(path, {0, false});
  EXPECT_THAT(test::message_of<WorkError>([&] { damaged.resume_point(); }), HasSubstr("--restart"));
  CheckpointFolder restarted(path, {0, true});
  restarted.clean();
  EXPECT_EQ(restarted.resume_point(), nullptr);
  restarted.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CheckpointFolder, SavesNothingBeforeItIsDue) {
  const test::TempDir folder;
  CheckpointFolder checkpointer(folder / "checkpoint", {1000, false});
  checkpointer.save_if_due([]() -> Checkpoint { throw std::logic_error("too early"); });
  EXPECT_FALSE(std::filesystem::exists(folder / "checkpoint"));
}

TEST(FileCheckpoints, RejectAnotherConfigUnlessRestarted) {
  const test::TempDir folder;
  const std::string out = folder / "model.safetensors";
  {
    FileCheckpoints first(out, "rate = 1.0\n", {0, false});
    first.checkpointer().save_if_due([] { return sample_checkpoint(1); });
  }
  EXPECT_THAT(test::message_of<InputError>([&] {
                FileCheckpoints(out, "rate = 2.0\n", {0, false});
              }),
              ::testing::AllOf(HasSubstr("rate"), HasSubstr("1.0"), HasSubstr("2.0"), HasSubstr("--restart")));
  {
    FileCheckpoints same(out, "rate = 1.0\n", {0, false});
    ASSERT_NE(same.checkpointer().resume_point(), nullptr);
  }
  FileCheckpoints restarted(out, "rate = 2.0\n", {0, true});
  EXPECT_EQ(restarted.checkpointer().resume_point(), nullptr);
  restarted.finish();
  EXPECT_FALSE(std::filesystem::exists(out + ".checkpoint"));
}

// Interrupts at the given call of pass() and resumes from there. Never interrupts if `at` is negative.
class InterruptOnce : public Checkpointer {
 public:
  InterruptOnce(std::string file, int64_t at) : file_(std::move(file)), at_(at) {}
  void save_if_due(const Take& take) override {
    if (checkpoint_ || passes++ != at_) return;
    write_checkpoint(file_, take());
    throw Interrupted(SIGINT);
  }
  const Checkpoint* resume_point() override {
    if (at_ >= 0 && passes > at_) checkpoint_ = read_checkpoint(file_);
    return checkpoint_ ? &*checkpoint_ : nullptr;
  }
  int64_t passes = 0;

 private:
  std::string file_;
  int64_t at_;
  std::optional<Checkpoint> checkpoint_;
};

// `work(checkpointer)` returns its final state, which must not depend on where it is interrupted.
template <typename Work>
void expect_equal_wherever_interrupted(Work work) {
  const test::TempDir folder;
  InterruptOnce never("", -1);
  const NamedTensors whole = work(never);
  for (int64_t at = 0; at < never.passes; at += 3) {
    SCOPED_TRACE(at);
    InterruptOnce once(folder / "checkpoint", at);
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

TEST(SourceTraining, ResumesWhereItWasInterrupted) {
  const LabelledImages training = labelled(10), validation = labelled(6);
  SourceTrainingOptions options;
  options.epochs = 4;
  options.batch = 4;
  for (const KeptIterate kept : {KeptIterate::kBest, KeptIterate::kLast}) {
    options.keep = kept;
    expect_equal_wherever_interrupted([&](Checkpointer& checkpointer) {
      SourceModel model(test::small_info("dtn"), Random(1));
      train_source(model, training, validation, options, 5, checkpointer);
      return copy_of(model.state());
    });
  }
}

TEST(Distillation, ResumesWhereItWasInterrupted) {
  const ImageSet images = test::noise_pictures(10);
  DistillationOptions options;
  options.epochs = 3;
  options.batch = 4;
  expect_equal_wherever_interrupted([&](Checkpointer& checkpointer) {
    Ensemble teachers = test::small_ensemble({"lenet", "lenet"});
    SourceModel student(test::small_info("dtn"), Random(7));
    distill(student, teachers, images, options, 5, checkpointer);
    return copy_of(student.state());
  });
}

}  // namespace
}  // namespace tributary
