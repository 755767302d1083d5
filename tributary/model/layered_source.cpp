#include "tributary/model/layered_source.h"

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/model/micro_batch.h"
#include "tributary/model/network_segments.h"

namespace tributary {
namespace {

void prefix(NamedTensors& tensors, const std::string& with) {
  for (NamedTensor& tensor : tensors) tensor.name = with + tensor.name;
}

// While it lives, training passes repeat an earlier one: BatchNorm does not update its running statistics, and takes
// those of the batch over the ranks `comm`.
class Repetition {
 public:
  Repetition(Network& network, Communicator* comm) : norms_(network.batch_norms()) {
    for (BatchNorm* norm : norms_) {
      before_.push_back(std::exchange(norm->comm, comm));
      norm->keep_running_stats = true;
    }
  }
  ~Repetition() {
    for (size_t i = 0; i < norms_.size(); ++i) {
      norms_[i]->comm = before_[i];
      norms_[i]->keep_running_stats = false;
    }
  }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;

 private:
  std::vector<BatchNorm*> norms_;
  std::vector<Communicator*> before_;
};

Classifier make_classifier(const ModelInfo& info, Start start, const Init& init) {
  const int64_t outputs = info.output_count();
  if (info.classifier == ClassifierKind::kLinear) return Linear(info.feature_width, outputs, Start::kXavier, init);
  return WeightNormLinear(info.feature_width, outputs, start, init);
}

}  // namespace

LayeredSource::LayeredSource(const ModelInfo& info, const Init& init, Start classifier)
    : backbone_(make_backbone(info.architecture, info.first_stride, child(init, 0), info.preprocessing.size)),
      classifier_(make_classifier(info, classifier, child(init, 2))),
      dropout_(info.bottleneck_dropout),
      size_(info.preprocessing.size) {
  if (info.bottleneck)
    bottleneck_ = {Linear(backbone_.width, info.feature_width, Start::kXavier, child(init, 1)),
                   BatchNorm(info.feature_width)};
  else
    TRIBUTARY_CHECK(info.feature_width == backbone_.width, "feature width {} does not match the backbone's {}",
                    info.feature_width, backbone_.width);
}

Tensor LayeredSource::backbone_features(const Tensor& x, DropoutStream* dropout_stream) {
  switch (sharding_.by) {
    case Sharding::By::kRows:
      return sharded_forward(*sharding_.comm, x, dropout_stream,
                             [this](const Tensor& rows, DropoutStream* own, bool whole) {
                               const bool shared = sharding_.sync_batch_norm && sharding_.comm->size() > 1;
                               for (BatchNorm* norm : backbone_.network.batch_norms())
                                 norm->comm = shared && !whole ? sharding_.comm : nullptr;
                               return backbone_features_alone(rows, own);
                             });
    case Sharding::By::kSources:
      return exchange(sharding_.elsewhere() ? Tensor() : backbone_features_alone(x, dropout_stream), x, dropout_stream);
    case Sharding::By::kNothing:
      break;
  }
  return backbone_features_alone(x, dropout_stream);
}

Tensor LayeredSource::exchange(const Tensor& own, const Tensor& x, DropoutStream* dropout_stream) {
  Communicator& comm = *sharding_.comm;
  if (!sharding_.elsewhere()) return send_from_owner(comm, own);
  static const PassDraws kNone;
  return receive_from_owner(comm, sharding_.owner, x, backbone_.width, dropout_stream,
                            dropout_stream ? draws(x) : kNone);
}

const PassDraws& LayeredSource::draws(const Tensor& x) {
  if (draws_) return *draws_;
  // Run one picture through the network and record its draws. BatchNorm is frozen, because a batch of one has no
  // statistics and the running ones must not change.
  torch::NoGradGuard no_grad;
  const std::vector<BatchNorm*> norms = backbone_.network.batch_norms();
  std::vector<bool> before;
  for (BatchNorm* norm : norms) before.push_back(std::exchange(norm->frozen, true));
  DropoutStream dropout_stream(Random(0), x.device());
  backbone_.network.forward(x.narrow(0, 0, 1), &dropout_stream);
  for (size_t i = 0; i < norms.size(); ++i) norms[i]->frozen = before[i];
  draws_.emplace();
  for (size_t i = 0; i < dropout_stream.drawn().size(); ++i)
    draws_->emplace_back(dropout_stream.drawn()[i].sizes().slice(1).vec(), dropout_stream.drops()[i]);
  return *draws_;
}

void LayeredSource::shard(const Sharding& sharding) {
  sharding_ = sharding;
  for (BatchNorm* norm : backbone_.network.batch_norms()) norm->comm = nullptr;
}

Tensor LayeredSource::backbone_features_alone(const Tensor& x, DropoutStream* dropout_stream) {
  if (dropout_stream) count_batch(backbone_.network.batch_norms());
  const int64_t at_once = memory_.micro_batch;
  if (at_once > 0 && x.size(0) > at_once)
    return in_micro_batches(x, dropout_stream, at_once, forward_of({0, backbone_.network.last()}));
  if (dropout_stream && recomputes()) return in_segments(x, *dropout_stream);
  return backbone_.network.forward(x, dropout_stream);
}

Tensor LayeredSource::trial_features(const Tensor& x) {
  const Repetition untraced(backbone_.network, nullptr);
  DropoutStream dropout_stream(Random(0), x.device());
  return recomputes() ? in_segments(x, dropout_stream) : backbone_.network.forward(x, &dropout_stream);
}

void LayeredSource::set_memory(const PassMemory& memory) {
  memory_ = memory;
  if (memory.recompute != Recompute::kNone) segments();
}

int64_t LayeredSource::segments() {
  if (segments_.empty()) segments_ = segments_of(backbone_.network, size_);
  return static_cast<int64_t>(segments_.size());
}

bool LayeredSource::recomputes() const {
  return memory_.recompute == Recompute::kAll || (memory_.recompute == Recompute::kWaiting && !prompt_);
}

PassForward LayeredSource::forward_of(LayerRange layers) {
  const std::vector<BatchNorm*> norms = backbone_.network.batch_norms();
  Communicator* const comm = norms.empty() ? nullptr : norms.front()->comm;
  return [this, layers, comm](const Tensor& x, DropoutStream* dropout_stream, bool again) {
    std::optional<Repetition> repetition;
    if (again) repetition.emplace(backbone_.network, comm);
    return backbone_.network.forward(x, dropout_stream, layers);
  };
}

Tensor LayeredSource::in_segments(const Tensor& x, DropoutStream& dropout_stream) {
  const size_t count =
      memory_.segments > 0 ? std::min(segments_.size(), static_cast<size_t>(memory_.segments)) : segments_.size();
  Tensor value = x;
  for (size_t i = 0; i < count; ++i) {
    DropoutStream own(dropout_stream, dropout_stream.drawn().size(), /*first=*/0, x.size(0));
    value = recomputed(value, own, forward_of(segments_[i]));
  }
  if (count == segments_.size()) return value;
  return backbone_.network.forward(value, &dropout_stream, {segments_[count].begin, backbone_.network.last()});
}

Tensor LayeredSource::bottleneck_features(const Tensor& flat, DropoutStream* dropout_stream) {
  if (!bottleneck_) return flat;
  if (dropout_stream) count_batch({&bottleneck_->bn});
  const Tensor phi = bottleneck_->bn(bottleneck_->linear(flat), dropout_stream);
  return dropout_ > 0 ? dropout(phi, dropout_, dropout_stream) : phi;
}

Tensor LayeredSource::classify(const Tensor& phi) const {
  return std::visit([&](const auto& layer) { return layer(phi); }, classifier_);
}

TensorList LayeredSource::backbone() const {
  TensorList list = backbone_.network.tensors();
  prefix(list.parameters, "backbone.");
  prefix(list.buffers, "backbone.");
  if (sharding_.by == Sharding::By::kRows)
    for (NamedTensor& parameter : list.parameters) parameter.reduced_over = sharding_.comm;
  if (sharding_.by == Sharding::By::kSources)
    for (NamedTensors* part : {&list.parameters, &list.buffers})
      for (NamedTensor& tensor : *part) tensor.owner = sharding_.owner;
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
    const Tensor scale = exact(bn.weight) / (exact(bn.running_var) + bn.epsilon).sqrt();
    const Tensor shift = (exact(bottleneck_->linear.bias) - exact(bn.running_mean)) * scale + exact(bn.bias);
    head.bias = head.bias + head.weight.matmul(shift);
    head.weight = head.weight.matmul(scale.unsqueeze(1) * exact(bottleneck_->linear.weight));
  }
  return {head.weight.to(torch::kFloat32).contiguous(), head.bias.to(torch::kFloat32).contiguous()};
}

}  // namespace tributary
