#include "tributary/train/source_training.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"
#include "tributary/estimate/calibrate.h"
#include "tributary/eval/metrics.h"
#include "tributary/model/backbone.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/sampler.h"
#include "tributary/train/schedule.h"
#include "tributary/train/training_loop.h"

namespace tributary {
namespace {

LabelledImages subset(const LabelledImages& data, const std::vector<int64_t>& index) {
  LabelledImages part{tributary::subset(data.images, index), {data.labels.classes, {}}};
  for (const int64_t i : index) part.labels.values.push_back(data.labels.values[static_cast<size_t>(i)]);
  return part;
}

std::vector<SgdGroup> groups_of(const SourceModel& model, const SourceTrainingOptions& options) {
  const double own = architecture(model.info().architecture).backbone_rate;
  return {backbone_group(model, options.backbone, options.rate_backbone > 0 ? options.rate_backbone : own),
          {model.bottleneck_parameters(), options.rate_head},
          {model.classifier_parameters(), options.rate_head}};
}

class SourceTask : public TrainingTask {
 public:
  SourceTask(SourceModel& model, Tensor label, const SourceTrainingOptions& options, uint64_t seed, int64_t steps)
      : model_(model),
        label_(std::move(label)),
        options_(options),
        seed_(seed),
        steps_(steps),
        sampler_(label_, options.batch, Random(seed, Purpose::kShuffle)),
        optimiser_(groups_of(model, options), options.sgd) {}

  LoopOptions loop_options() const {
    LoopOptions loop;
    loop.batch = options_.batch;
    loop.augmentation = resolve_defaults(options_.augmentation, model_.info(), /*adapting=*/false);
    loop.cuda_graph = model_.capturable();
    loop.advice = "try smaller learning rates (--rate-backbone, --rate-head)";
    return loop;
  }
  const Sgd& optimiser() const { return optimiser_; }

  std::vector<std::string> loss_terms() const override { return {"loss"}; }

  StepDraws draw(int64_t step) override {
    const auto key = static_cast<uint64_t>(step);
    const Tensor rows = sampler_.next();
    return {{{rows, Random(seed_, Purpose::kAugment, {key}), needed_rows({&model_, 1}, rows.size(0))}},
            {},
            {static_cast<float>(decay_factor(step, steps_))},
            {Random(seed_, Purpose::kDropout, {key})}};
  }

  Tensor step(const StepInputs& inputs) override {
    const auto& [rows, pixels] = inputs.batches.front();
    Tensor logits;
    {
      const MixedPrecision precision(is_mixed(options_.precision), pixels.device());
      const Tensor x = normalise(pixels, model_.info().normalisation);
      logits = model_.classify(model_.features(x, &inputs.dropout_stream.front())).to(torch::kFloat32);
    }
    optimiser_.zero_gradients();
    const Tensor loss = smoothed_cross_entropy(logits, label_.index_select(0, rows), options_.label_smoothing);
    loss.backward();
    optimiser_.step(inputs.real(0));
    return loss.detach().view({1});
  }

 private:
  SourceModel& model_;
  Tensor label_;  // int64 [n] on the device
  const SourceTrainingOptions& options_;
  uint64_t seed_;
  int64_t steps_;
  Sampler sampler_;
  Sgd optimiser_;
};

}  // namespace

void declare(OptionTable& table, SourceTrainingOptions& options) {
  const std::string section = "train";
  table.integer(section, "epochs", &options.epochs, 1, 100000, "passes over the training pictures");
  table.integer(section, "batch", &options.batch, 2, 65536, "pictures per batch");
  table.number(section, "label_smoothing", &options.label_smoothing, 0, 0.99,
               "label smoothing: share of a label that is spread over all classes");
  table.number(section, "rate_backbone", &options.rate_backbone, 0, 10,
               "learning rate of the backbone; 0 takes the architecture's default");
  table.number(section, "rate_head", &options.rate_head, 0, 10, "learning rate of bottleneck and classifier");
  declare(table, section, options.sgd);
  declare(table, section, options.backbone);
  table.choice(section, "wn_init", &options.classifier_init, {{"uniform", Start::kDefault}, {"xavier", Start::kXavier}},
               "initial weights of the classifier");
  table
      .choice(section, "keep", &options.keep, {{"best", KeptIterate::kBest}, {"last", KeptIterate::kLast}},
              "iterate to keep: the best on the validation split, or the last")
      .alias("checkpoint");
  table.number(section, "train_share", &options.train_share, 0.01, 0.99,
               "share of the pictures to train on if there is no validation set");
  table.flag(section, "full", &options.full, "train on all pictures; the accuracy is then that of some of them");
  declare(table, section, options.augmentation);
  declare(table, section, options.precision);
  table.flag(section, "deterministic", &options.deterministic,
             "on a GPU, use only convolutions whose results repeat, so that the same command writes the same model");
}

Tensor smoothed_cross_entropy(const Tensor& logits, const Tensor& label, double smoothing) {
  const Tensor log_probability = logits.log_softmax(-1);
  return (1 - smoothing) * at::nll_loss(log_probability, label) - smoothing * log_probability.mean(-1).mean();
}

Split split_for_validation(const LabelledImages& data, double share, bool full, uint64_t seed) {
  const int64_t count = data.images.size();
  const auto first = static_cast<int64_t>(std::floor(share * static_cast<double>(count)));
  if (first < 2 || first >= count)
    input_error("{} pictures are too few to split off a validation set; add pictures or give --validation DATA", count);
  const std::vector<int64_t> order = Random(seed, Purpose::kSplit).permutation(count);
  const std::vector<int64_t> rest(order.begin() + first, order.end());
  Split split;
  split.training = full ? data : subset(data, {order.begin(), order.begin() + first});
  split.validation = subset(data, rest);
  return split;
}

namespace {

// Throws if a weight or a running statistic overflowed: the losses, computed with those of the batch, may not show it.
void require_finite_state(const SourceModel& model, int64_t step, const std::string& advice) {
  for (const NamedTensor& tensor : model.state())
    if (!tensor.value.isfinite().all().item<bool>())
      work_error("step {}: non-finite values of {}; {}", step, tensor.name, advice);
}

}  // namespace

void BestCopy::offer(double accuracy, const SourceModel& model) {
  if (accuracy < accuracy_) return;
  accuracy_ = accuracy;
  state_ = copy_of(model.state());
}

void BestCopy::resume(double accuracy, NamedTensors state) {
  accuracy_ = accuracy;
  state_ = std::move(state);
}

double train_source(SourceModel& model, const LabelledImages& training, const LabelledImages& validation,
                    const SourceTrainingOptions& options, uint64_t seed, Checkpointer& checkpointer,
                    const std::function<void(const SourceTrainingProgress&)>& progress) {
  if (training.images.size() < 2)
    input_error("training needs at least 2 pictures, there are {}", training.images.size());
  const RepeatableConvolutions repeatable(options.deterministic);
  const torch::Device device = model.device();
  const DeviceImages images(training.images, device);
  const DeviceImages validation_images(validation.images, device);
  const Tensor validation_label = torch::tensor(validation.labels.values, torch::kInt64).to(device);
  const int64_t steps = options.epochs * batches_per_epoch(images.size(), options.batch);
  const int64_t interval = std::max<int64_t>(1, steps / 10);
  SourceTask task(model, torch::tensor(training.labels.values, torch::kInt64).to(device), options, seed, steps);
  TrainingLoop loop(task, images, task.loop_options());
  BestCopy best;
  double accuracy = -1;
  int64_t validated = 0;  // the step after which the model was last validated
  const auto checkpoint = [&] {
    Checkpoint now;
    now.facts() = {{"validated", validated}, {"accuracy", accuracy}, {"best_accuracy", best.accuracy()}};
    loop.save(now, "loop.");
    now.add("model.", model.state());
    now.add("optimiser.", task.optimiser().state());
    now.add("best.", best.state());
    return now;
  };
  loop.start(steps);
  if (const Checkpoint* from = checkpointer.resume_point()) {
    loop.restore(*from, "loop.");
    validated = from->integer("validated", 0, loop.done());
    from->restore("model.", model.state());
    from->restore("optimiser.", task.optimiser().state());
    accuracy = from->number("accuracy", -1);
    if (const double known = from->number("best_accuracy", -1); known >= 0) {
      NamedTensors copy = copy_of(model.state());
      from->restore("best.", copy);
      best.resume(known, std::move(copy));
    }
  }
  const int64_t pictures = validation_label.size(0);
  const bool split = options.keep == KeptIterate::kBest && pictures >= kSplitValidation;
  const Tensor all = torch::arange(pictures, validation_label.options());
  const Tensor chooses = split ? all.slice(0, 0, pictures, 2) : all,
               calibrates = split ? all.slice(0, 1, pictures, 2) : all;
  const auto accuracy_on = [&](const Tensor& logits, const Tensor& rows) {
    return accuracy_of(logits.index_select(0, rows), validation_label.index_select(0, rows));
  };
  const auto validate = [&] {
    loop.require_finite();
    require_finite_state(model, loop.done(), task.loop_options().advice);
    const Tensor logits = evaluate(model, validation_images, is_mixed(options.precision)).logits;
    accuracy = accuracy_of(logits, validation_label);
    best.offer(accuracy_on(logits, chooses), model);
    validated = loop.done();
  };
  const auto report = [&] {
    if (progress) progress({loop.done(), steps, accuracy});
  };
  while (validated < steps) {
    const int64_t next_validation = std::min((validated / interval + 1) * interval, steps);
    loop.run(next_validation, checkpointer, checkpoint, [&](std::span<const int64_t>) { report(); });
    checkpointer.interruptible(checkpoint, validate);
    loop.begin_round(0);
    report();
  }
  if (options.keep == KeptIterate::kBest) best.restore(model);
  const Tensor logits = evaluate(model, validation_images, is_mixed(options.precision)).logits;
  model.set_calibration(calibrate(logits.index_select(0, calibrates), validation_label.index_select(0, calibrates),
                                  split ? "odd" : "all"));
  return accuracy_of(logits, validation_label);
}

}  // namespace tributary
