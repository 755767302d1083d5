#include "tributary/train/distillation.h"

#include <cmath>

#include "tributary/base/error.h"
#include "tributary/device/device.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

std::vector<SgdGroup> groups_of(const SourceModel& student, const DistillationOptions& options) {
  return {{student.backbone_parameters(), options.rate * options.backbone_factor},
          {student.bottleneck_parameters(), options.rate},
          {student.classifier_parameters(), options.rate}};
}

// The mixture's probabilities for a batch, in evaluation.
Tensor teach(Ensemble& teachers, const Tensor& pixels) {
  torch::NoGradGuard no_grad;
  const std::vector<Tensor> x = views(pixels, teachers.sources);
  std::vector<Tensor> logits;
  for (size_t j = 0; j < x.size(); ++j) {
    SourceModel& teacher = teachers.sources[j];
    logits.push_back(teacher.classify(teacher.features(x[j])));
  }
  return combine(at::stack(logits), teachers.mixture);
}

}  // namespace

void declare(OptionTable& table, DistillationOptions& options) {
  const std::string section = "distill";
  table.integer(section, "epochs", &options.epochs, 0, 100000,
                "passes over the pictures; 0 takes 15 for photographs and 30 for digits");
  table.integer(section, "batch", &options.batch, 0, 65536,
                "pictures per batch; 0 takes 32 for photographs and 64 for digits");
  table.number(section, "rate", &options.rate, 0, 10, "learning rate");
  table.number(section, "backbone_factor", &options.backbone_factor, 0, 1,
               "factor of the learning rate for the backbone; 0.1 suits good initial weights");
  table.choice(section, "labels", &options.labels, {{"hard", TeacherLabels::kHard}, {"soft", TeacherLabels::kSoft}},
               "learn the classes or the probabilities of the mixture");
  table.number(section, "temperature", &options.temperature, 0.01, 100, "temperature of soft labels");
  table.choice(section, "view", &options.view, {{"batch", TeacherView::kBatch}, {"test", TeacherView::kTest}},
               "label every augmented batch, or label the unaugmented pictures once, which is faster");
  declare(table, section, options.sgd);
  declare(table, section, options.augmentation);
}

Tensor hard_distillation_loss(const Tensor& logits, const Tensor& teacher) {
  return at::cross_entropy_loss(logits, teacher.argmax(-1));
}

Tensor soft_distillation_loss(const Tensor& logits, const Tensor& teacher, double temperature) {
  constexpr double kSmallest = 1e-30;  // keeps the logarithm finite
  const Tensor target = (teacher.clamp_min(kSmallest).log() / temperature).softmax(-1);
  return -(target * (logits / temperature).log_softmax(-1)).sum(-1).mean() * (temperature * temperature);
}

void distill(SourceModel& student, Ensemble& teachers, const ImageSet& target, const DistillationOptions& options,
             uint64_t seed, Checkpointer& checkpointer,
             const std::function<void(const DistillationProgress&)>& progress) {
  if (target.size() < 2) input_error("distillation needs at least 2 pictures, there are {}", target.size());
  const Architecture& network = architecture(student.info().architecture);
  const int64_t batch = options.batch > 0 ? std::max<int64_t>(options.batch, 2) : network.photographs ? 32 : 64;
  const int64_t epochs = options.epochs > 0 ? options.epochs : network.photographs ? 15 : 30;
  const torch::Device device = student.device();
  const DeviceImages images(target, device);
  const Augmentation augmentation = resolve_defaults(options.augmentation, network, /*adapting=*/false);
  Tensor unchanged;
  if (options.view == TeacherView::kTest) unchanged = combine(evaluate_logits(teachers, images), teachers.mixture);

  Sgd optimiser(groups_of(student, options), options.sgd);
  Sampler sampler(torch::arange(images.size()), batch, Random(seed, Purpose::kShuffle));
  const int64_t steps = epochs * batches_per_epoch(images.size(), batch);
  const int64_t interval = std::max<int64_t>(1, steps / 10);
  double shown = NAN;
  int64_t done = 0;
  Tensor loss;  // of the last step
  const auto look = [&] {
    shown = loss.item<double>();
    if (!std::isfinite(shown))
      work_error("step {}: the loss is not finite; try a smaller learning rate (--rate)", done);
  };
  const auto checkpoint = [&] {
    if (loss.defined()) look();
    Checkpoint now;
    now.facts = {{"step", done}};
    now.add("student.", student.state());
    now.add("optimiser.", optimiser.state());
    return now;
  };
  if (const Checkpoint* left_off = checkpointer.found()) {
    for (; done < left_off->integer("step"); ++done) sampler.next();
    left_off->restore("student.", student.state());
    left_off->restore("optimiser.", optimiser.state());
  }
  while (done < steps) {
    checkpointer.pass(checkpoint);
    const int64_t i = done + 1;
    const auto step = static_cast<uint64_t>(i);
    const Tensor index = upload(sampler.next(), device);
    const Tensor pixels = images.augmented(index, augmentation, Random(seed, Purpose::kAugment, {step}));
    const Tensor teacher = unchanged.defined() ? unchanged.index_select(0, index) : teach(teachers, pixels);
    DropoutStream dropout_stream(Random(seed, Purpose::kDropout, {step}), device);
    const Tensor logits =
        student.classify(student.features(normalise(pixels, student.info().normalisation), &dropout_stream));
    loss = options.labels == TeacherLabels::kHard ? hard_distillation_loss(logits, teacher)
                                                  : soft_distillation_loss(logits, teacher, options.temperature);
    optimiser.zero_gradients();
    loss.backward();
    optimiser.step(decay_factor(i, steps));
    done = i;
    if (i % interval == 0 || i == steps) look();
    if (progress) progress({i, steps, shown});
  }
}

}  // namespace tributary
