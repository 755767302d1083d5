#include "tributary/model/source_model.h"

#include "tributary/base/error.h"

namespace tributary {
namespace {

NamedTensors prefixed(const std::string& prefix, NamedTensors tensors) {
  for (NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

void append(NamedTensors& to, const NamedTensors& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

SourceModel::SourceModel(ModelInfo info, Random init, WeightNormInit classifier)
    : info_(std::move(info)),
      backbone_(make_backbone(info_.architecture, init.child(0))),
      bottleneck_(backbone_->width(), info_.feature_width, init.child(1)),
      bottleneck_bn_(info_.feature_width),
      classifier_(info_.feature_width, static_cast<int64_t>(info_.classes.size()), classifier, init.child(2)) {}

Tensor SourceModel::features(const Tensor& x, Noise* noise) {
  return dropout(bottleneck_bn_(bottleneck_(backbone_->forward(x, noise)), noise), info_.bottleneck_dropout, noise);
}

NamedTensors SourceModel::backbone_parameters() const {
  return prefixed("backbone.", backbone_->tensors().parameters);
}

NamedTensors SourceModel::bottleneck_parameters() const {
  TensorList list;
  bottleneck_.list("bottleneck.linear", list);
  bottleneck_bn_.list("bottleneck.bn", list);
  return list.parameters;
}

NamedTensors SourceModel::classifier_parameters() const {
  TensorList list;
  classifier_.list("classifier", list);
  return list.parameters;
}

NamedTensors SourceModel::state() const {
  TensorList bottleneck;
  bottleneck_.list("bottleneck.linear", bottleneck);
  bottleneck_bn_.list("bottleneck.bn", bottleneck);
  const TensorList backbone = backbone_->tensors();
  NamedTensors all = prefixed("backbone.", backbone.parameters);
  append(all, prefixed("backbone.", backbone.buffers));
  append(all, bottleneck.parameters);
  append(all, bottleneck.buffers);
  append(all, classifier_parameters());
  return all;
}

void SourceModel::restore(const NamedTensors& saved) {
  torch::NoGradGuard no_grad;
  const NamedTensors own = state();
  TRIBUTARY_CHECK(own.size() == saved.size(), "{} tensors for a model of {}", saved.size(), own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    TRIBUTARY_CHECK(own[i].name == saved[i].name, "{} where {} belongs", saved[i].name, own[i].name);
    own[i].value.detach().copy_(saved[i].value);
  }
}

void SourceModel::to(torch::Device device) {
  for (NamedTensor& tensor : state()) tensor.value.set_data(tensor.value.detach().to(device));
}

NamedTensors copy_of(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const NamedTensor& tensor : tensors) copies.push_back({tensor.name, tensor.value.detach().clone()});
  return copies;
}

}  // namespace tributary
