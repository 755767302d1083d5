#include "tributary/methods/selective/selective_step.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "tributary/adapt/information.h"
#include "tributary/checkpoint/checkpoint.h"
#include "tributary/model/backbone.h"
#include "tributary/model/ensemble_pass.h"
#include "tributary/model/layered_source.h"

namespace tributary {
namespace {

std::vector<SgdGroup> groups_of(const Ensemble& ensemble, const SelectiveOptions& options) {
  std::vector<SgdGroup> groups;
  for (const SourceModel& source : ensemble.sources) {
    const double own = architecture(source.info().architecture).backbone_rate;
    groups.push_back(backbone_group(source, options.backbone, options.backbone_rate(own)));
    groups.push_back({source.bottleneck_parameters(), options.rate_bottleneck});
  }
  return groups;
}

// The group of source j's backbone.
size_t backbone_group(int64_t j) {
  return 2 * static_cast<size_t>(j);
}

// make(j) for the view of every source j, called once for all sources that share a view.
template <class Make>
std::vector<Tensor> of_views(const std::vector<Tensor>& views, const Make& make) {
  std::vector<Tensor> made;
  for (size_t j = 0; j < views.size(); ++j) {
    size_t same = 0;
    while (same < j && !views[same].is_same(views[j])) ++same;
    made.push_back(same < j ? made[same] : make(j));
  }
  return made;
}

// The passes of a step through a source, in order, and their inputs.
using Passes = std::vector<std::pair<StepPass, Tensor>>;

Passes passes_of(const StepBatch& batch, size_t j, const Tensor& mixed) {
  Passes passes;
  if (mixed.defined()) passes.emplace_back(StepPass::kMixed, mixed);
  passes.emplace_back(StepPass::kConfident, batch.confident[j]);
  if (!batch.unconfident.empty()) passes.emplace_back(StepPass::kUnconfident, batch.unconfident[j]);
  return passes;
}

Tensor joined(const Passes& passes) {
  std::vector<Tensor> inputs;
  for (const auto& [pass, x] : passes) inputs.push_back(x);
  return at::cat(inputs);
}

// Without BatchNorm the backbone treats every picture by itself, so its passes can be joined. That is faster for small
// networks on a CPU. On a GPU launches cost nothing in a captured step, and large networks need the memory.
bool passes_at_once(SourceModel& source) {
  return !source.sharding().active() && source.device().is_cpu() && source.layered() &&
         source.layered()->network().batch_norms().empty() && !architecture(source.info().architecture).photographs;
}

// The backbone's features of every pass, computed in one pass over `joined_passes`, the pictures of all of them.
// `stream_of(pass)` has the dropout masks of each.
template <class StreamOf>
std::map<StepPass, Tensor> backbone_at_once(LayeredSource& source, const Passes& passes, const Tensor& joined_passes,
                                            const StreamOf& stream_of) {
  std::vector<DropoutStream::Part> parts;
  std::vector<int64_t> counts;
  for (const auto& [pass, x] : passes) {
    parts.push_back({&stream_of(pass), x.size(0)});
    counts.push_back(x.size(0));
  }
  DropoutStream dropout_stream(parts, joined_passes.device());
  const std::vector<Tensor> split = source.backbone_features(joined_passes, &dropout_stream).split_with_sizes(counts);
  std::map<StepPass, Tensor> features;
  for (size_t i = 0; i < passes.size(); ++i) features[passes[i].first] = split[i];
  return features;
}

}  // namespace

// Results of a source's forward passes that the backward pass needs.
struct SelectiveStep::Source {
  Tensor objective;  // lambda_ce L_ce + lambda_im L_im, without what was already propagated back
  Tensor cross_entropy, information;
  Tensor aligned, unconfident;  // features for the adversary; undefined without alignment
};

SelectiveStep::SelectiveStep(Ensemble& ensemble, const SelectiveOptions& options)
    : ensemble_(ensemble),
      options_(options),
      prior_(torch::full({static_cast<int64_t>(ensemble.classes().size())},
                         1 / static_cast<double>(ensemble.classes().size()),
                         at::device(ensemble.sources.front().device()).dtype(torch::kFloat32))),
      optimiser_(groups_of(ensemble, options), options.sgd),
      adversary_(ensemble.joint_width(), options.alignment,
                 Random(static_cast<uint64_t>(options.seed), Purpose::kAdversary)),
      branches_(branch_count(ensemble), ensemble.sources.front().device()) {
  for (const SourceModel& source : ensemble_.sources) own_classes_.push_back(own_classes(source));
  adversary_.to(ensemble.sources.front().device());
  for (SourceModel& source : ensemble_.sources)
    for (NamedTensor& frozen : source.classifier_parameters()) frozen.value.set_requires_grad(false);
}

SelectiveStep::OwnClasses SelectiveStep::own_classes(const SourceModel& source) {
  if (!source.known().defined()) return {};
  const Tensor& known = source.known();
  return {known.nonzero().flatten(), (known.to(torch::kInt64).cumsum(0) - 1).clamp_min(0), known.to(torch::kFloat32)};
}

StepBatch SelectiveStep::own_batch(const StepBatch& batch, int64_t j) const {
  const OwnClasses& own = own_classes_[static_cast<size_t>(j)];
  const Tensor label = batch.source_label.defined() ? batch.source_label[j] : batch.label;
  StepBatch mine;
  mine.label = label;
  mine.weight = batch.weight;
  mine.mixing = batch.mixing;
  if (!own.classes.defined()) return mine;
  mine.weight = own.is_known.index_select(0, label);
  mine.known = mine.weight;
  if (batch.weight.defined()) mine.weight = mine.weight * batch.weight;
  mine.label = own.number.index_select(0, label);
  return mine;
}

Tensor SelectiveStep::informed_weight(const StepBatch& mine, const std::vector<Tensor>& informed) const {
  if (!mine.known.defined()) return {};
  std::vector<Tensor> weight = {mine.known};
  const bool all = informed.size() > 1 && options_.information_set == InformationSet::kAll;
  const bool mixed = informed.size() > 1 && options_.information_set == InformationSet::kMixed;
  if (all) weight.push_back(at::ones({informed[1].size(0)}, mine.known.options()));
  if (mixed) weight.push_back(mine.known * mine.known.index_select(0, mine.mixing.permutation));
  return at::cat(weight);
}

Tensor SelectiveStep::information_of(const Tensor& predicted, const Tensor& weight, const OwnClasses& own) const {
  const double marginal_epsilon = options_.aggregation.marginal_epsilon;
  if (!own.classes.defined())
    return has_prior_ ? information_loss_with_prior(predicted, prior_)
                      : information_loss(predicted, kEntropyEpsilon, marginal_epsilon);
  if (!has_prior_) return weighted_information_loss(predicted, weight, kEntropyEpsilon, marginal_epsilon);
  const Tensor prior = prior_.index_select(0, own.classes);
  return weighted_information_loss_with_prior(predicted, weight, prior / prior.sum().clamp_min(1e-12));
}

NamedTensors SelectiveStep::state() const {
  return joined_state({{"optimiser", optimiser_.state()}, {"adversary", adversary_.state()}});
}

DropoutStream& SelectiveStep::stream_of(StepDropout& dropout_stream, int64_t j, StepPass pass) const {
  return dropout_stream[static_cast<size_t>(j) * std::size(kStepPasses) + static_cast<size_t>(pass)];
}

std::vector<SelectiveStep::Flat> SelectiveStep::divided_features(const StepBatch& batch,
                                                                 const std::vector<Tensor>& mixed,
                                                                 StepDropout& dropout_stream) {
  std::vector<Flat> flat(mixed.size());
  if (!ensemble_.by_sources()) return flat;
  std::vector<std::vector<BackbonePass>> passes(mixed.size());
  for (size_t j = 0; j < mixed.size(); ++j)
    for (const auto& [pass, x] : passes_of(batch, j, mixed[j]))
      passes[j].push_back({x, &stream_of(dropout_stream, static_cast<int64_t>(j), pass)});
  const auto features = divided_backbone_features(ensemble_, passes, branches_, is_mixed(options_.precision));
  for (size_t j = 0; j < mixed.size(); ++j) {
    const Passes own = passes_of(batch, j, mixed[j]);
    for (size_t i = 0; i < features[j].size(); ++i) flat[j][own[i].first] = features[j][i];
  }
  return flat;
}

SelectiveStep::Flat SelectiveStep::features_at_once(int64_t j, const StepBatch& batch, const Tensor& mixed,
                                                    const Tensor& joined_passes, StepDropout& dropout_stream) {
  SourceModel& source = ensemble_.sources[j];
  if (!passes_at_once(source)) return {};
  const MixedPrecision precision(is_mixed(options_.precision), batch.label.device());
  const auto own_stream = [&](StepPass pass) -> DropoutStream& { return stream_of(dropout_stream, j, pass); };
  return backbone_at_once(*source.layered(), passes_of(batch, j, mixed), joined_passes, own_stream);
}

SelectiveStep::Source SelectiveStep::forward(int64_t j, const StepBatch& batch, const Tensor& mixed, const Flat& flat,
                                             StepDropout& dropout_stream) {
  SourceModel& source = ensemble_.sources[j];
  const MixedPrecision precision(is_mixed(options_.precision), batch.label.device());
  const bool at_once = passes_at_once(source);
  const auto features = [&](const Tensor& x, StepPass pass) {
    DropoutStream& own = stream_of(dropout_stream, j, pass);
    return (flat.empty() ? source.features(x, &own) : source.layered()->bottleneck_features(flat.at(pass), &own))
        .to(torch::kFloat32);
  };
  Source result;
  const OwnClasses& own = own_classes_[static_cast<size_t>(j)];
  const auto classify = [&](const Tensor& phi) {
    const Tensor z = source.classify(phi);
    return own.classes.defined() ? z.index_select(1, own.classes) : z;
  };
  const StepBatch mine = own_batch(batch, j);
  Tensor phi_mix, z_mix, ce_mix;
  if (options_.mixup) {
    // Nothing else needs the mixed pass: its backward pass follows at once and frees its memory.
    const bool prompt = !at_once && options_.information_set != InformationSet::kMixed &&
                        options_.adversarial_set != AdversarialSet::kMixed;
    std::optional<LayeredSource::PromptPasses> prompt_pass;
    if (prompt && source.layered()) prompt_pass.emplace(*source.layered());
    phi_mix = features(mixed, StepPass::kMixed);
    z_mix = classify(phi_mix);
    ce_mix = mine.weight.defined() ? mixed_cross_entropy(z_mix, mine.label, mine.weight, batch.mixing)
                                   : mixed_cross_entropy(z_mix, mine.label, batch.mixing);
    if (prompt) {
      torch::autograd::backward({options_.lambda_ce * ce_mix});
      ce_mix = ce_mix.detach();
    }
  }
  const Tensor phi_l = features(batch.confident[j], StepPass::kConfident);
  const Tensor z_l = classify(phi_l);
  const Tensor ce_l = mine.weight.defined() ? weighted_cross_entropy(z_l, mine.label, mine.weight)
                                            : at::cross_entropy_loss(z_l, mine.label);
  result.aligned = phi_l;
  std::vector<Tensor> informed = {z_l};
  if (!batch.unconfident.empty()) {  // also without alignment: it updates the running statistics
    result.unconfident = features(batch.unconfident[j], StepPass::kUnconfident);
    if (options_.information_set == InformationSet::kAll) informed.push_back(classify(result.unconfident));
  }
  if (options_.mixup && options_.information_set == InformationSet::kMixed) informed.push_back(z_mix);
  if (options_.mixup && options_.adversarial_set == AdversarialSet::kMixed) result.aligned = at::cat({phi_l, phi_mix});
  result.cross_entropy = options_.mixup ? ce_mix + ce_l : ce_l;
  const Tensor predicted = (informed.size() == 1 ? z_l : at::cat(informed)).softmax(-1);
  result.information = information_of(predicted, informed_weight(mine, informed), own);
  result.objective = options_.lambda_ce * result.cross_entropy + options_.lambda_im * result.information;
  return result;
}

StepLosses SelectiveStep::accumulate(const StepBatch& batch, const Random& stream) {
  StepDropout dropout_stream;
  for (int64_t j = 0; j < ensemble_.size(); ++j)
    for (const StepPass pass : kStepPasses)
      dropout_stream.emplace_back(pass_stream(stream, j, pass), batch.label.device());
  return accumulate(batch, dropout_stream);
}

StepLosses SelectiveStep::accumulate(const StepBatch& batch, StepDropout& dropout_stream) {
  optimiser_.zero_gradients();
  std::vector<Tensor> mixed(batch.confident.size()), joined_passes(batch.confident.size());
  if (options_.mixup)
    mixed = of_views(batch.confident, [&](size_t j) { return mix(batch.confident[j], batch.mixing); });
  if (std::any_of(ensemble_.sources.begin(), ensemble_.sources.end(), passes_at_once))
    joined_passes = of_views(batch.confident, [&](size_t j) { return joined(passes_of(batch, j, mixed[j])); });
  std::vector<Source> sources(mixed.size());
  const auto each_source = [&](const auto& work) {
    for (int64_t j = 0; j < ensemble_.size(); ++j) branches_.run(j, [&] { work(j); });
    branches_.join();
  };
  std::vector<Flat> flat = divided_features(batch, mixed, dropout_stream);
  each_source([&](int64_t j) {
    if (flat[j].empty()) flat[j] = features_at_once(j, batch, mixed[j], joined_passes[j], dropout_stream);
    sources[j] = forward(j, batch, mixed[j], flat[j], dropout_stream);
  });

  std::vector<Tensor> losses;
  for (const Source& source : sources) losses.push_back(source.cross_entropy.detach());
  for (const Source& source : sources) losses.push_back(source.information.detach());
  if (batch.unconfident.empty() || options_.lambda_adv == 0) {
    each_source([&](int64_t j) {
      torch::autograd::backward({sources[j].objective});
      optimiser_.begin_reduction(backbone_group(j));
    });
    losses.insert(losses.end(), 2, torch::zeros_like(losses.front()));
    return at::stack(losses);
  }

  std::vector<Tensor> aligned, unconfident;
  for (const Source& source : sources) {
    aligned.push_back(source.aligned);
    unconfident.push_back(source.unconfident);
  }
  const AlignmentStep alignment = adversary_.step(aligned, unconfident);
  each_source([&](int64_t j) {
    const Source& source = sources[j];
    torch::autograd::backward({source.objective, source.aligned, source.unconfident},
                              {Tensor(), alignment.confident_gradient[j] * options_.lambda_adv,
                               alignment.unconfident_gradient[j] * options_.lambda_adv});
    optimiser_.begin_reduction(backbone_group(j));
  });
  losses.push_back(alignment.adversarial_loss);
  losses.push_back(alignment.discriminator_loss);
  return at::stack(losses);
}

StepLosses SelectiveStep::run(const StepBatch& batch, double rate_factor, const Random& stream) {
  StepLosses losses = accumulate(batch, stream);
  update(rate_factor);
  return losses;
}

}  // namespace tributary
