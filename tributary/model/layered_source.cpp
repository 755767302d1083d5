#include "tributary/model/layered_source.h"

#include "tributary/base/error.h"
#include "tributary/model/pieces.h"

namespace tributary {
namespace {

void prefix(NamedTensors& tensors, const std::string& with) {
  for (NamedTensor& tensor : tensors) tensor.name = with + tensor.name;
}

Classifier make_classifier(const ModelInfo& info, Start start, const Init& init) {
  const auto classes = static_cast<int64_t>(info.classes.size());
  if (info.classifier == ClassifierKind::kLinear) return Linear(info.feature_width, classes, Start::kXavier, init);
  return WeightNormLinear(info.feature_width, classes, start, init);
}

}  // namespace

LayeredSource::LayeredSource(const ModelInfo& info, const Init& init, Start classifier)
    : backbone_(make_backbone(info.architecture, info.first_stride, child(init, 0))),
      classifier_(make_classifier(info, classifier, child(init, 2))),
      dropout_(info.bottleneck_dropout) {
  if (info.bottleneck)
    bottleneck_ = {Linear(backbone_.width, info.feature_width, Start::kXavier, child(init, 1)),
                   BatchNorm(info.feature_width)};
  else
    TRIBUTARY_CHECK(info.feature_width == backbone_.width, "features of {} for a backbone of {}", info.feature_width,
                    backbone_.width);
}

Tensor LayeredSource::backbone_features(const Tensor& x, Noise* noise) {
  switch (sharing_.by) {
    case Sharing::By::kRows:
      return across_ranks(*sharing_.ranks, x, noise, [this](const Tensor& rows, Noise* own, bool whole) {
        const bool shared = sharing_.shared_statistics && sharing_.ranks->size() > 1;
        for (BatchNorm* norm : backbone_.network.batch_norms())
          norm->ranks = shared && !whole ? sharing_.ranks : nullptr;
        return backbone_features_alone(rows, own);
      });
    case Sharing::By::kSources:
      return exchange(sharing_.elsewhere() ? Tensor() : backbone_features_alone(x, noise), x, noise);
    case Sharing::By::kNothing:
      break;
  }
  return backbone_features_alone(x, noise);
}

Tensor LayeredSource::exchange(const Tensor& own, const Tensor& x, Noise* noise) {
  Ranks& ranks = *sharing_.ranks;
  if (!sharing_.elsewhere()) return send_from_owner(ranks, own);
  static const PassDraws kNone;
  return receive_from_owner(ranks, sharing_.owner, x, backbone_.width, noise, noise ? draws(x) : kNone);
}

const PassDraws& LayeredSource::draws(const Tensor& x) {
  if (draws_) return *draws_;
  // One picture shows it, with BatchNorm kept out of it.
  torch::NoGradGuard no_grad;
  const std::vector<BatchNorm*> norms = backbone_.network.batch_norms();
  std::vector<bool> before;
  for (BatchNorm* norm : norms) before.push_back(std::exchange(norm->frozen, true));
  Noise noise(Random(0), x.device());
  backbone_.network.forward(x.narrow(0, 0, 1), &noise);
  for (size_t i = 0; i < norms.size(); ++i) norms[i]->frozen = before[i];
  draws_.emplace();
  for (size_t i = 0; i < noise.drawn().size(); ++i)
    draws_->emplace_back(noise.drawn()[i].sizes().slice(1).vec(), noise.drops()[i]);
  return *draws_;
}

void LayeredSource::share(const Sharing& sharing) {
  sharing_ = sharing;
  for (BatchNorm* norm : backbone_.network.batch_norms()) norm->ranks = nullptr;
}

Tensor LayeredSource::backbone_features_alone(const Tensor& x, Noise* noise) {
  if (noise) count_batch(backbone_.network.batch_norms());
  if (piece_ == 0 || x.size(0) <= piece_) return backbone_.network.forward(x, noise);
  return in_pieces(x, noise, piece_, [this](const Tensor& rows, Noise* own, bool again) {
    const std::vector<BatchNorm*> norms = backbone_.network.batch_norms();
    for (BatchNorm* norm : norms) norm->still = again;
    Tensor flat = backbone_.network.forward(rows, own);
    for (BatchNorm* norm : norms) norm->still = false;
    return flat;
  });
}

Tensor LayeredSource::bottleneck_features(const Tensor& flat, Noise* noise) {
  if (!bottleneck_) return flat;
  if (noise) count_batch({&bottleneck_->bn});
  const Tensor phi = bottleneck_->bn(bottleneck_->linear(flat), noise);
  return dropout_ > 0 ? dropout(phi, dropout_, noise) : phi;
}

Tensor LayeredSource::classify(const Tensor& phi) const {
  return std::visit([&](const auto& layer) { return layer(phi); }, classifier_);
}

TensorList LayeredSource::backbone() const {
  TensorList list = backbone_.network.tensors();
  prefix(list.parameters, "backbone.");
  prefix(list.buffers, "backbone.");
  if (sharing_.by == Sharing::By::kRows)
    for (NamedTensor& parameter : list.parameters) parameter.summed_by = sharing_.ranks;
  if (sharing_.by == Sharing::By::kSources)
    for (NamedTensors* part : {&list.parameters, &list.buffers})
      for (NamedTensor& tensor : *part) tensor.owner = sharing_.owner;
  return list;
}

TensorList LayeredSource::bottleneck() const {
  TensorList list;
  if (!bottleneck_) return list;
  bottleneck_->linear.list("bottleneck.linear", list);
  bottleneck_->bn.list("bottleneck.bn", list);
  return list;
}

TensorList LayeredSource::classifier() const {
  TensorList list;
  std::visit([&](const auto& layer) { layer.list("classifier", list); }, classifier_);
  return list;
}

Affine LayeredSource::folded_head() const {
  torch::NoGradGuard no_grad;
  const auto exact = [](const Tensor& tensor) { return tensor.detach().to(torch::kCPU, torch::kFloat64); };
  Affine head;
  if (const auto* layer = std::get_if<WeightNormLinear>(&classifier_)) {
    const Tensor v = exact(layer->weight_v);
    head = {exact(layer->weight_g) * v / v.norm(2, {1}, true), exact(layer->bias)};
  } else {
    const auto& plain = std::get<Linear>(classifier_);
    head = {exact(plain.weight), exact(plain.bias)};
  }
  if (bottleneck_) {
    const BatchNorm& bn = bottleneck_->bn;
    const Tensor scale = exact(bn.weight) / (exact(bn.running_var) + kBatchNormEpsilon).sqrt();
    const Tensor shift = (exact(bottleneck_->linear.bias) - exact(bn.running_mean)) * scale + exact(bn.bias);
    head.bias = head.bias + head.weight.matmul(shift);
    head.weight = head.weight.matmul(scale.unsqueeze(1) * exact(bottleneck_->linear.weight));
  }
  return {head.weight.to(torch::kFloat32).contiguous(), head.bias.to(torch::kFloat32).contiguous()};
}

}  // namespace tributary
