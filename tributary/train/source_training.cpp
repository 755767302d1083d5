#include "tributary/train/source_training.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"
#include "tributary/device/device.h"
#include "tributary/eval/metrics.h"
#include "tributary/model/backbone.h"
#include "tributary/train/captured_steps.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

LabelledImages subset(const LabelledImages& data, const std::vector<int64_t>& index) {
  LabelledImages part{tributary::subset(data.images, index), {data.labels.classes, {}}};
  for (const int64_t i : index) part.labels.values.push_back(data.labels.values[static_cast<size_t>(i)]);
  return part;
}

std::vector<SgdGroup> groups_of(const SourceModel& model, const SourceTrainingOptions& options) {
  const double own = architecture(model.info().architecture).backbone_rate;
  return {{model.backbone_parameters(), options.rate_backbone > 0 ? options.rate_backbone : own},
          {model.bottleneck_parameters(), options.rate_head},
          {model.classifier_parameters(), options.rate_head}};
}

}  // namespace

void declare(OptionTable& table, SourceTrainingOptions& options) {
  const std::string section = "train";
  table.integer(section, "epochs", &options.epochs, 1, 100000, "passes over the training pictures");
  table.integer(section, "batch", &options.batch, 2, 65536, "pictures per batch");
  table.number(section, "label_smoothing", &options.label_smoothing, 0, 0.99,
               "share of a label that goes to all classes");
  table.number(section, "rate_backbone", &options.rate_backbone, 0, 10,
               "learning rate of the backbone; 0 takes the architecture's own");
  table.number(section, "rate_head", &options.rate_head, 0, 10, "learning rate of bottleneck and classifier");
  declare(table, section, options.sgd);
  table.choice(section, "wn_init", &options.classifier_init, {{"uniform", Start::kDefault}, {"xavier", Start::kXavier}},
               "initial weights of the classifier");
  table
      .choice(section, "keep", &options.keep, {{"best", KeptIterate::kBest}, {"last", KeptIterate::kLast}},
              "iterate to keep: the best on the validation split, or the last")
      .alias("checkpoint");
  table.number(section, "train_share", &options.train_share, 0.01, 0.99,
               "share of the pictures to train on if there is no validation set");
  table.flag(section, "full", &options.full, "train on all pictures and still validate on the rest of the split");
  declare(table, section, options.augmentation);
  declare(table, section, options.precision);
}

Tensor smoothed_cross_entropy(const Tensor& logits, const Tensor& label, double smoothing) {
  const Tensor log_probability = logits.log_softmax(-1);
  return (1 - smoothing) * at::nll_loss(log_probability, label) - smoothing * log_probability.mean(-1).mean();
}

Split split_for_validation(const LabelledImages& data, double share, bool full, uint64_t seed) {
  const int64_t count = data.images.size();
  const auto first = static_cast<int64_t>(std::floor(share * static_cast<double>(count)));
  if (first < 2 || first >= count)
    input_error("{} pictures are too few to train on and keep some for validation; give more, or --validation DATA",
                count);
  const std::vector<int64_t> order = Random(seed, Purpose::kSplit).permutation(count);
  const std::vector<int64_t> rest(order.begin() + first, order.end());
  Split split;
  split.training = full ? data : subset(data, {order.begin(), order.begin() + first});
  split.validation = subset(data, rest);
  return split;
}

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
  const torch::Device device = model.device();
  const DeviceImages images(training.images, device);
  const DeviceImages validation_images(validation.images, device);
  const Tensor label = torch::tensor(training.labels.values, torch::kInt64).to(device);
  const Tensor validation_label = torch::tensor(validation.labels.values, torch::kInt64).to(device);
  const Augmentation augmentation =
      resolve_defaults(options.augmentation, architecture(model.info().architecture), /*adapting=*/false);
  Sgd optimiser(groups_of(model, options), options.sgd);
  Sampler sampler(label, options.batch, Random(seed, Purpose::kShuffle));
  const int64_t steps = options.epochs * batches_per_epoch(images.size(), options.batch);
  const int64_t interval = std::max<int64_t>(1, steps / 10);
  const bool mixed = is_mixed(options.precision);
  // What shifts and rotates draws on the host in the middle of a step, which cannot be recorded.
  const bool moves = augmentation.shift > 0 || augmentation.rotation > 0;
  enum Part : size_t { kRows, kCrops };
  Random moving(0);
  CapturedSteps captured(
      device, model.capturable() && !moves, [&](const StepPlan& plan, std::vector<DropoutStream>& dropout_stream) {
        const Tensor rows = plan.part(kRows);
        const Tensor pixels = moves ? images.augmented(rows, augmentation, moving)
                              : plan.pictures().defined()
                                  ? images.apply_crops_to(plan.pictures(), plan.part(kCrops), augmentation)
                                  : images.apply_crops(rows, plan.part(kCrops), augmentation);
        Tensor logits;
        {
          const MixedPrecision precision(mixed, device);
          const Tensor x = normalise(pixels.contiguous(at::MemoryFormat::ChannelsLast), model.info().normalisation);
          logits = model.classify(model.features(x, &dropout_stream.front())).to(torch::kFloat32);
        }
        optimiser.zero_gradients();
        const Tensor loss = smoothed_cross_entropy(logits, label.index_select(0, rows), options.label_smoothing);
        loss.backward();
        optimiser.step(plan.real(0));
        return loss.detach();
      });
  const OwnStream stream(device);
  BestCopy best;
  double accuracy = -1;
  int64_t done = 0;
  Tensor loss;  // of the last step
  const auto require_finite = [&] {
    if (loss.defined() && !std::isfinite(loss.item<double>()))
      work_error("step {}: the loss is not finite; try smaller learning rates (--rate-backbone, --rate-head)", done);
  };
  int64_t validated = 0;  // the step after which the validation split was looked at last
  const auto checkpoint = [&] {
    require_finite();
    Checkpoint now;
    now.facts = {{"step", done}, {"validated", validated}, {"accuracy", accuracy}, {"best_accuracy", best.accuracy()}};
    now.add("model.", model.state());
    now.add("optimiser.", optimiser.state());
    now.add("best.", best.state());
    return now;
  };
  if (const Checkpoint* left_off = checkpointer.found()) {
    for (; done < left_off->integer("step"); ++done) sampler.next();
    validated = left_off->integer("validated");
    left_off->restore("model.", model.state());
    left_off->restore("optimiser.", optimiser.state());
    accuracy = left_off->facts.value("accuracy", -1.0);
    if (const double known = left_off->facts.value("best_accuracy", -1.0); known >= 0) {
      NamedTensors copy = copy_of(model.state());
      left_off->restore("best.", copy);
      best.resume(known, std::move(copy));
    }
  }
  const auto validate = [&] {
    require_finite();
    accuracy = accuracy_of(evaluate(model, validation_images, mixed).logits, validation_label);
    best.offer(accuracy, model);
    validated = done;
  };
  while (done < steps || validated < steps) {
    if (validated < done && (done % interval == 0 || done == steps)) {
      checkpointer.during(checkpoint, validate);
      if (progress) progress({done, steps, accuracy});
      continue;
    }
    checkpointer.pass(checkpoint);
    const int64_t i = done + 1;
    const auto step = static_cast<uint64_t>(i);
    const Tensor rows = sampler.next();
    moving = Random(seed, Purpose::kAugment, {step});
    StepPlan plan({rows, images.draw_crops(rows.size(0), augmentation, moving)},
                  {static_cast<float>(decay_factor(i, steps))}, {Random(seed, Purpose::kDropout, {step})});
    if (!images.resident() && !moves) plan.carry(images.fetch(rows, needed_rows({&model, 1}, rows.size(0))));
    loss = captured.run(plan, /*usual=*/rows.size(0) == options.batch);
    done = i;
    if (progress) progress({done, steps, accuracy});
  }
  if (options.keep == KeptIterate::kLast) return accuracy;
  best.restore(model);
  return best.accuracy();
}

}  // namespace tributary
