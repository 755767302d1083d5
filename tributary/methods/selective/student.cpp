#include "tributary/methods/selective/student.h"

#include "tributary/adapt/mixup.h"
#include "tributary/device/accelerator.h"
#include "tributary/model/backbone.h"
#include "tributary/train/distillation.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

constexpr int64_t kStudentEpochs = 30, kPhotographStudentEpochs = 15;

enum StudentReal : size_t { kStudentRatio, kStudentRate };

std::vector<SgdGroup> groups_of(const SourceModel& student, const SelectiveOptions& options) {
  const double own = architecture(student.info().architecture).backbone_rate;
  return {{student.backbone_parameters(), options.backbone_rate(own), clip_of(student, options.backbone.clip_gradient)},
          {student.bottleneck_parameters(), options.rate_bottleneck},
          {student.classifier_parameters(), options.rate_bottleneck}};
}

int64_t steps_of(const SourceModel& student, int64_t pictures, const SelectiveOptions& options) {
  const bool photographs = architecture(student.info().architecture).photographs;
  const int64_t epochs = options.student_epochs > 0 ? options.student_epochs
                         : photographs              ? kPhotographStudentEpochs
                                                    : kStudentEpochs;
  return epochs * batches_per_epoch(pictures, options.batch);
}

std::vector<std::pair<Tensor, bool>> parameters_of(const SourceModel& student) {
  std::vector<std::pair<Tensor, bool>> all;
  for (const NamedTensors& part :
       {student.backbone_parameters(), student.bottleneck_parameters(), student.classifier_parameters()})
    for (const NamedTensor& parameter : part) {
      all.emplace_back(parameter.value, parameter.value.requires_grad());
      parameter.value.set_requires_grad(true);
    }
  return all;
}

}  // namespace

StudentTask::StudentTask(SourceModel& student, const Tensor& labels, const SelectiveOptions& options,
                         const RowBlock& rows)
    : student_(student),
      labels_(labels.to(torch::kFloat32).contiguous()),
      rows_(rows),
      options_(options),
      steps_(steps_of(student, rows.total(labels.size(0)), options)),
      sampler_(torch::arange(rows.total(labels.size(0))), options.batch,
               Random(static_cast<uint64_t>(options.seed), Purpose::kShuffle, {0, 1})),
      required_(parameters_of(student)),
      optimiser_(groups_of(student, options), options.sgd) {}

StudentTask::~StudentTask() {
  optimiser_.zero_gradients();
  for (const auto& [parameter, required] : required_) parameter.set_requires_grad(required);
}

LoopOptions StudentTask::loop_options() const {
  LoopOptions loop;
  loop.batch = options_.batch;
  loop.augmentation = resolve_defaults(augmentation_of(options_), student_.info(), /*adapting=*/true);
  loop.cuda_graph = options_.cuda_graph && student_.capturable();
  loop.indices = 1;
  loop.advice = "try smaller learning rates (--rate-backbone, --rate-bottleneck)";
  return loop;
}

StepDraws StudentTask::draw(int64_t step) {
  const auto seed = static_cast<uint64_t>(options_.seed), key = static_cast<uint64_t>(step);
  const Tensor rows = sampler_.next();
  Random mixing(seed, Purpose::kMixup, {0, key});
  const double ratio = mixing.uniform();
  const Tensor permutation = torch::tensor(mixing.permutation(rows.size(0)), torch::kInt64);
  const Random dropout(seed, Purpose::kDropout, {0, key});
  return {{{rows, Random(seed, Purpose::kAugment, {0, key, 0}),
            needed_rows({&student_, 1}, rows.size(0), options_.mixup ? permutation : Tensor())}},
          {permutation},
          {ratio, decay_factor(step, steps_)},
          {dropout.child(0), dropout.child(1)}};
}

Tensor StudentTask::step(const StepInputs& inputs) {
  const auto& [rows, pixels] = inputs.batches.front();
  const Tensor label = rows_.select(labels_, rows);
  const Tensor x = normalise(pixels, student_.info().normalisation);
  const auto loss_of = [&](const Tensor& pictures, const Tensor& target, size_t pass) {
    Tensor logits;
    {
      const MixedPrecision precision(is_mixed(options_.precision), pictures.device());
      logits = student_.classify(student_.features(pictures, &inputs.dropout_stream[pass])).to(torch::kFloat32);
    }
    return soft_distillation_loss(logits, target, /*temperature=*/1);
  };
  Tensor loss = loss_of(x, label, 0);
  if (options_.mixup) {
    const Mixing mixing{inputs.real(kStudentRatio), inputs.index(0)};
    loss = loss + loss_of(mix(x, mixing), mix(label, mixing), 1);
  }
  optimiser_.zero_gradients();
  loss.backward();
  optimiser_.step(inputs.real(kStudentRate));
  return loss.detach().view({1});
}

}  // namespace tributary
