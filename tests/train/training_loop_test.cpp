#include "tributary/train/training_loop.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/train/sampler.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kPictures = 10, kBatch = 4;

// Only records its input. Its losses are the number of the step and a constant.
class NotingTask : public TrainingTask {
 public:
  std::vector<std::string> loss_terms() const override { return {"first loss of source 0", "second loss of source 1"}; }

  StepDraws draw(int64_t step) override {
    const std::lock_guard lock(mutex_);
    drawn.push_back(step);
    const auto key = static_cast<uint64_t>(step);
    StepDraws draws;
    draws.batches.push_back({sampler_.next(), Random(1, Purpose::kAugment, {key}), {}});
    draws.reals = {static_cast<double>(step), step == bad_step ? bad_loss : 0.5};
    draws.dropout = {Random(1, Purpose::kDropout, {key})};
    return draws;
  }
  void before_step(int64_t step) override { before.push_back(step); }
  Tensor step(const StepInputs& inputs) override {
    rows.push_back(inputs.batches.front().rows);
    pixels.push_back(inputs.batches.front().pixels);
    const std::lock_guard lock(mutex_);
    drawn_at_step.push_back(static_cast<int64_t>(drawn.size()));
    return at::stack({inputs.real(0), inputs.real(1)});
  }

  int64_t bad_step = 0;
  double bad_loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<int64_t> drawn, before, drawn_at_step;
  std::vector<Tensor> rows, pixels;

 private:
  std::mutex mutex_;
  Sampler sampler_{torch::arange(kPictures), kBatch, Random(1, Purpose::kShuffle)};
};

LoopOptions options_with(const Augmentation& augmentation = {0, 0, 0, 0}) {
  LoopOptions options;
  options.batch = kBatch;
  options.augmentation = augmentation;
  options.advice = "try --rate";
  return options;
}

Checkpoint nothing() {
  return {};
}

TEST(TrainingLoop, RunsStepsInOrderAndKeepsTheirLosses) {
  const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
  NotingTask task;
  TrainingLoop loop(task, images, options_with());
  Checkpointer none;
  loop.start(6);
  EXPECT_THAT(loop.mean_losses(), ElementsAre(0, 0));
  std::vector<int64_t> sizes;
  loop.run(3, none, nothing, [&](std::span<const int64_t> batch) { sizes.push_back(batch.front()); });
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  EXPECT_THAT(task.before, ElementsAre(1, 2, 3));
  EXPECT_THAT(loop.mean_losses(), ElementsAre(2, 0.5));
  EXPECT_THAT(loop.last_losses(), ElementsAre(3, 0.5));
  loop.begin_round(2);
  loop.run(5, none, nothing);
  EXPECT_EQ(loop.done(), 5);
  EXPECT_THAT(loop.mean_losses(), ElementsAre(4.5, 0.5)) << "of the round alone";
  Sampler same(torch::arange(kPictures), kBatch, Random(1, Purpose::kShuffle));
  for (const Tensor& rows : task.rows) EXPECT_TENSOR_EQ(rows, same.next());
}

TEST(TrainingLoop, AugmentationDoesNotDependOnTheStorage) {
  const Augmentation augmentation{3, 0.5, 0.5, 20};
  const ImageSet set = test::noise_pictures(kPictures);
  const DeviceImages resident(set, torch::kCPU), streamed(test::streamed(set), torch::kCPU);
  for (const DeviceImages* images : {&resident, &streamed}) {
    NotingTask task;
    TrainingLoop loop(task, *images, options_with(augmentation));
    Checkpointer none;
    loop.start(4);
    loop.run(4, none, nothing);
    for (uint64_t i = 0; i < 4; ++i)
      EXPECT_TENSOR_EQ(task.pixels[i],
                       resident.augmented(task.rows[i], augmentation, Random(1, Purpose::kAugment, {i + 1})));
  }
}

TEST(TrainingLoop, DrawsOneStepAheadIfPicturesMustBeRead) {
  const ImageSet set = test::noise_pictures(kPictures);
  const DeviceImages resident(set, torch::kCPU), streamed(test::streamed(set), torch::kCPU);
  Checkpointer none;
  NotingTask at_once;
  TrainingLoop first(at_once, resident, options_with());
  first.start(5);
  first.run(5, none, nothing);
  EXPECT_THAT(at_once.drawn_at_step, ElementsAre(1, 2, 3, 4, 5)) << "nothing to read ahead";
  EXPECT_EQ(first.waited(), 0);
  NotingTask ahead;
  TrainingLoop second(ahead, streamed, options_with());
  second.start(5);
  second.run(3, none, nothing);
  second.run(5, none, nothing);
  EXPECT_THAT(ahead.drawn, ElementsAre(1, 2, 3, 4, 5)) << "each once, in order";
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_LE(ahead.drawn_at_step[i], static_cast<int64_t>(i) + 2) << "never more than one ahead";
    EXPECT_TENSOR_EQ(ahead.rows[i], at_once.rows[i]);
    EXPECT_TENSOR_EQ(ahead.pixels[i], at_once.pixels[i]);
  }
  EXPECT_GT(second.waited(), 0);
}

// Saves after every step.
class EagerSaver : public Checkpointer {
 public:
  void save_if_due(const Take& take) override { saved.push_back(take()); }
  std::vector<Checkpoint> saved;
};

TEST(TrainingLoop, NonFiniteLossNamesItsStepAndIsNeverSaved) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
    NotingTask task;
    task.bad_step = 5;
    task.bad_loss = bad;
    TrainingLoop loop(task, images, options_with());
    loop.start(8);
    loop.begin_round(1);
    EagerSaver saver;
    const auto take = [&] {
      Checkpoint now;
      loop.save(now, "loop.");
      return now;
    };
    loop.run(3, saver, take);
    loop.begin_round(2);
    const std::string message = test::message_of<WorkError>([&] { loop.run(8, saver, take); });
    EXPECT_THAT(message, HasSubstr("round 2, step 2: non-finite second loss of source 1; try --rate"));
    EXPECT_EQ(loop.done(), 5) << "found before the next step";
    EXPECT_EQ(saver.saved.size(), 5u) << "none of them after step 5";
    EXPECT_THROW(loop.mean_losses(), WorkError);
    loop.begin_round(0);
    EXPECT_NO_THROW(loop.require_finite());
  }
}

TEST(TrainingLoop, CountsStepsFromTheStartWithoutRounds) {
  const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
  NotingTask task;
  task.bad_step = 5;
  TrainingLoop loop(task, images, options_with());
  Checkpointer none;
  loop.start(6);
  loop.run(3, none, nothing);
  loop.begin_round(0);
  loop.run(6, none, nothing);
  EXPECT_THAT(test::message_of<WorkError>([&] { loop.require_finite(); }), ::testing::StartsWith("step 5: "));
}

TEST(TrainingLoop, ResumesWithTheSameBatchesAndLosses) {
  const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
  Checkpointer none;
  NotingTask whole;
  TrainingLoop loop(whole, images, options_with());
  loop.start(7);
  loop.run(4, none, nothing);
  Checkpoint saved;
  loop.save(saved, "a.");
  loop.run(7, none, nothing);
  NotingTask rest;
  TrainingLoop resumed(rest, images, options_with());
  resumed.start(7);
  resumed.restore(saved, "a.");
  EXPECT_EQ(resumed.done(), 4);
  resumed.run(7, none, nothing);
  EXPECT_EQ(resumed.mean_losses(), loop.mean_losses());
  ASSERT_EQ(rest.rows.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TENSOR_EQ(rest.rows[i], whole.rows[4 + i]);
  NotingTask shorter;
  TrainingLoop other(shorter, images, options_with());
  other.start(3);
  EXPECT_THROW(other.restore(saved, "a."), InputError) << "the checkpoint is of more steps";
}

}  // namespace
}  // namespace tributary
