#include "tributary/methods/joint/joint_learner.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "tributary/model/ensemble_pass.h"
#include "tributary/model/layered_source.h"

namespace tributary {
namespace {

std::vector<SgdGroup> groups_of(const Ensemble& ensemble, const JointSettings& settings,
                                const std::vector<Tensor>& raw) {
  std::vector<SgdGroup> groups;
  for (const SourceModel& source : ensemble.sources) {
    groups.push_back(backbone_group(source, settings.backbone, settings.rate_backbone));
    groups.push_back({source.bottleneck_parameters(), settings.rate_bottleneck});
  }
  NamedTensors weights;
  for (const Tensor& tensor : raw) weights.push_back({"source_weights", tensor});
  groups.push_back({weights, settings.rate_weights});
  return groups;
}

}  // namespace

JointLearner::JointLearner(Ensemble& ensemble, const JointSettings& settings, std::vector<Tensor> raw)
    : ensemble_(ensemble),
      settings_(settings),
      raw_(std::move(raw)),
      optimiser_(groups_of(ensemble, settings, raw_), {}),
      branches_(branch_count(ensemble), ensemble.sources.front().device()) {
  for (SourceModel& source : ensemble_.sources) freeze(source.classifier_parameters());
}

std::vector<std::string> JointLearner::losses() const {
  std::vector<std::string> names = {"cross_entropy", "information"};
  if (settings_.loss.relations != 0) names.push_back("class_relations");
  return names;
}

NamedTensors JointLearner::state() const {
  NamedTensors all = joined_state({{"optimiser", optimiser_.state()}, {"labels", label_state()}});
  for (size_t i = 0; i < raw_.size(); ++i) all.push_back({fmt::format("weights.{}", i), raw_[i]});
  return all;
}

void JointLearner::each_source(const std::function<void(size_t)>& work) {
  for (int64_t j = 0; j < ensemble_.size(); ++j) branches_.run(j, [&work, j] { work(static_cast<size_t>(j)); });
  branches_.join();
}

Tensor JointLearner::step(const TargetBatch& batch) {
  const std::vector<Tensor> x = views(batch.pixels, ensemble_.sources);
  std::vector<Tensor> logits(x.size());
  std::vector<std::vector<BackbonePass>> passes;
  for (size_t j = 0; j < x.size(); ++j) passes.push_back({{x[j], &batch.dropout_stream[j]}});
  const auto flat = divided_backbone_features(ensemble_, passes, branches_, settings_.mixed);
  each_source([&](size_t j) {
    const MixedPrecision precision(settings_.mixed, batch.pixels.device());
    SourceModel& source = ensemble_.sources[j];
    DropoutStream* const dropout_stream = &batch.dropout_stream[j];
    const Tensor phi = flat[j].empty() ? source.features(x[j], dropout_stream)
                                       : source.layered()->bottleneck_features(flat[j].front(), dropout_stream);
    logits[j] = source.classify(phi).to(torch::kFloat32);
  });

  // The loss is the only coupling between the sources. Stop its gradient at their logits, then run one backward pass
  // per source.
  Tensor meeting = at::stack(logits).detach().requires_grad_(true);
  const Tensor current = weights();
  Tensor wanted;
  {
    torch::NoGradGuard no_grad;
    wanted = labels(batch.rows, current);
  }
  const MixtureLoss loss = mixture_loss(meeting, current, wanted, settings_.loss);
  optimiser_.zero_gradients();
  torch::autograd::backward({loss.objective});
  const std::vector<Tensor> gradients = meeting.grad().unbind();
  each_source([&](size_t j) {
    torch::autograd::backward({logits[j]}, {gradients[j]});
    optimiser_.begin_reduction(/*the backbone's group=*/2 * j);
  });
  optimiser_.step(batch.rate_factor);
  return loss.parts;
}

Tensor trained_tensor(const std::vector<float>& values, torch::Device device) {
  return torch::tensor(values, torch::kFloat32).to(device).requires_grad_(true);
}

TrainingSchedule JointMethod::schedule(const Ensemble& ensemble, int64_t) const {
  return common_.schedule(ensemble, /*default_batch=*/for_photographs(ensemble) ? 32 : 64, /*default_epochs=*/15);
}

std::vector<std::unique_ptr<Learner>> JointMethod::learners(Ensemble& ensemble, const DeviceImages& images,
                                                            const TrainingSchedule& schedule) {
  JointSettings settings;
  settings.backbone = common_.backbone;
  settings.rate_backbone = common_.backbone_rate(for_photographs(ensemble) ? 1e-3 : 1e-2);
  settings.rate_bottleneck = common_.bottleneck_rate(1e-2);
  settings.mixed = is_mixed(schedule.precision);
  std::unique_ptr<JointLearner> own = learner(ensemble, images, schedule, settings);
  learner_ = own.get();
  std::vector<std::unique_ptr<Learner>> all;
  all.push_back(std::move(own));
  return all;
}

Mixture JointMethod::mixture() const {
  return {Combination::kWeightedLogits, learner_->weights().detach()};
}

}  // namespace tributary
