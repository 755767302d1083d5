#include "tributary/train/distillation.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/sampler.h"
#include "tributary/train/schedule.h"
#include "tributary/train/training_loop.h"

namespace tributary {
namespace {

std::vector<SgdGroup> groups_of(const SourceModel& student, const DistillationOptions& options) {
  return {{student.backbone_parameters(), options.rate * options.backbone_factor},
          {student.bottleneck_parameters(), options.rate},
          {student.classifier_parameters(), options.rate}};
}

class DistillationTask : public TrainingTask {
 public:
  DistillationTask(SourceModel& student, Ensemble& teachers, const DeviceImages& images,
                   const DistillationOptions& options, uint64_t seed)
      : student_(student),
        teachers_(teachers),
        mixture_(teachers.mixture),
        options_(options),
        network_(architecture(student.info().architecture)),
        seed_(seed),
        batch_(options.batch > 0      ? std::max<int64_t>(options.batch, 2)
               : network_.photographs ? 32
                                      : 64),
        steps_((options.epochs > 0     ? options.epochs
                : network_.photographs ? 15
                                       : 30) *
               batches_per_epoch(images.size(), batch_)),
        sampler_(torch::arange(images.size()), batch_, Random(seed, Purpose::kShuffle)),
        optimiser_(groups_of(student, options), options.sgd) {
    if (mixture_.weights.defined()) mixture_.weights = mixture_.weights.to(images.device());
    if (options.view == TeacherView::kTest) labels_of_set_ = combine(evaluate_logits(teachers, images), mixture_);
  }

  LoopOptions loop_options() const {
    LoopOptions loop;
    loop.batch = batch_;
    loop.augmentation = resolve_defaults(options_.augmentation, student_.info(), /*adapting=*/false);
    loop.cuda_graph = student_.capturable() && !teachers_.known().defined();  // completing logits needs the host
    for (const SourceModel& teacher : teachers_.sources) loop.cuda_graph = loop.cuda_graph && teacher.capturable();
    loop.advice = "try a smaller learning rate (--rate)";
    return loop;
  }
  int64_t steps() const { return steps_; }
  const Sgd& optimiser() const { return optimiser_; }

  std::vector<std::string> loss_terms() const override { return {"loss"}; }

  StepDraws draw(int64_t step) override {
    const auto key = static_cast<uint64_t>(step);
    const Tensor rows = sampler_.next();
    return {{{rows, Random(seed_, Purpose::kAugment, {key}), needed(rows.size(0))}},
            {},
            {decay_factor(step, steps_)},
            {Random(seed_, Purpose::kDropout, {key})}};
  }

  Tensor step(const StepInputs& inputs) override {
    const auto& [rows, pixels] = inputs.batches.front();
    const Tensor teacher = labels_of_set_.defined() ? labels_of_set_.index_select(0, rows) : teach(pixels);
    const Tensor x = normalise(pixels, student_.info().normalisation);
    const Tensor logits = student_.classify(student_.features(x, &inputs.dropout_stream.front()));
    const Tensor loss = options_.labels == TeacherLabels::kHard
                            ? hard_distillation_loss(logits, teacher)
                            : soft_distillation_loss(logits, teacher, options_.temperature);
    optimiser_.zero_gradients();
    loss.backward();
    if (pixels.is_cpu())
      optimiser_.step(inputs.plan.exact_real(0).item<double>());
    else
      optimiser_.step(inputs.real(0));
    return loss.detach().view({1});
  }

 private:
  // The mixture's probabilities for a batch, in evaluation mode.
  Tensor teach(const Tensor& pixels) {
    torch::NoGradGuard no_grad;
    const std::vector<Tensor> x = views(pixels, teachers_.sources);
    std::vector<Tensor> logits;
    for (size_t j = 0; j < x.size(); ++j) {
      SourceModel& teacher = teachers_.sources[j];
      logits.push_back(teacher.classify(teacher.features(x[j])));
    }
    return combine(teachers_.stacked(logits), mixture_);
  }

  // The rows of a batch that this process must read for the student and the teachers; undefined: all.
  Tensor needed(int64_t rows) const {
    const Tensor own = needed_rows({&student_, 1}, rows);
    return labels_of_set_.defined() || needed_rows(teachers_.sources, rows).defined() ? own : Tensor();
  }

  SourceModel& student_;
  Ensemble& teachers_;
  Mixture mixture_;  // with its weights on the device
  const DistillationOptions& options_;
  const Architecture& network_;
  uint64_t seed_;
  int64_t batch_, steps_;
  Tensor labels_of_set_;  // [n, K], the mixture's probabilities for unaugmented pictures; undefined: computed per batch
  Sampler sampler_;
  Sgd optimiser_;
};

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
  const DeviceImages images(target, student.device());
  DistillationTask task(student, teachers, images, options, seed);
  TrainingLoop loop(task, images, task.loop_options());
  const int64_t steps = task.steps();
  const int64_t interval = std::max<int64_t>(1, steps / 10);
  const auto checkpoint = [&] {
    Checkpoint now;
    now.facts() = nlohmann::json::object();
    loop.save(now, "loop.");
    now.add("student.", student.state());
    now.add("optimiser.", task.optimiser().state());
    return now;
  };
  loop.start(steps);
  if (const Checkpoint* from = checkpointer.resume_point()) {
    loop.restore(*from, "loop.");
    from->restore("student.", student.state());
    from->restore("optimiser.", task.optimiser().state());
  }
  double loss = NAN;  // reading it synchronises with the GPU, so it is not done after every step
  loop.run(steps, checkpointer, checkpoint, [&](std::span<const int64_t>) {
    if (loop.done() % interval == 0 || loop.done() == steps) {
      loop.require_finite();
      loss = loop.last_losses().front();
      loop.begin_round(0);
    }
    if (progress) progress({loop.done(), steps, loss});
  });
}

}  // namespace tributary
