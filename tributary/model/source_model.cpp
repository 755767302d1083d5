#include "tributary/model/source_model.h"

#include <numeric>
#include <set>

#include "tributary/base/error.h"
#include "tributary/model/layered_source.h"
#include "tributary/model/scripted_source.h"

namespace tributary {

SourceModel::SourceModel(ModelInfo info, const Init& init, Start classifier)
    : info_(std::move(info)),
      body_(std::make_unique<LayeredSource>(info_, init, classifier)),
      output_map_(outputs(), static_cast<int64_t>(info_.classes.size())) {}

SourceModel::SourceModel(ModelInfo info, std::unique_ptr<SourceBody> body)
    : info_(std::move(info)),
      body_(std::move(body)),
      output_map_(outputs(), static_cast<int64_t>(info_.classes.size())) {}

namespace {

// The calibration of a source whose outputs get other classes: none if some are merged, since its thresholds are those
// of single outputs.
std::optional<Calibration> recalibrated(Calibration calibration, const std::vector<int64_t>& before,
                                        const std::vector<int64_t>& after, size_t classes) {
  if (std::set<int64_t>(after.begin(), after.end()).size() != after.size()) return std::nullopt;
  std::vector<double> shares(classes, 0);
  for (size_t o = 0; o < after.size(); ++o)
    shares[static_cast<size_t>(after[o])] = calibration.class_share[static_cast<size_t>(before[o])];
  calibration.class_share = std::move(shares);
  return calibration;
}

}  // namespace

void SourceModel::set_classes(std::vector<std::string> names, std::vector<int64_t> outputs) {
  if (info_.calibration) info_.calibration = recalibrated(*info_.calibration, this->outputs(), outputs, names.size());
  info_.classes = std::move(names);
  info_.outputs = std::move(outputs);
  output_map_ = OutputMap(info_.outputs, static_cast<int64_t>(info_.classes.size()));
  if (output_map_.empty()) info_.outputs.clear();
  output_map_.to(device());
}

std::vector<int64_t> SourceModel::outputs() const {
  if (!info_.outputs.empty()) return info_.outputs;
  std::vector<int64_t> own(info_.classes.size());
  std::iota(own.begin(), own.end(), 0);
  return own;
}

Tensor SourceModel::features_alone(const Tensor& x) {
  LayeredSource* const own = layered();
  return own ? own->bottleneck_features(own->backbone_features_alone(x, nullptr), nullptr) : features(x);
}

void SourceModel::shard(const Sharding& sharding) {
  sharding_ = sharding;
  if (layered())
    layered()->shard(sharding);
  else
    sharding_.by = Sharding::By::kNothing;
}

int64_t SourceModel::parameter_count() const {
  int64_t count = 0;
  for (const NamedTensors& part : {backbone_parameters(), bottleneck_parameters(), classifier_parameters()})
    for (const NamedTensor& tensor : part) count += tensor.value.numel();
  return count;
}

NamedTensors SourceModel::state() const {
  NamedTensors all;
  for (const TensorList& part : {body_->backbone(), body_->bottleneck(), body_->classifier()}) {
    all.insert(all.end(), part.parameters.begin(), part.parameters.end());
    all.insert(all.end(), part.buffers.begin(), part.buffers.end());
  }
  return all;
}

void SourceModel::restore(const NamedTensors& saved) {
  torch::NoGradGuard no_grad;
  const NamedTensors own = state();
  TRIBUTARY_CHECK(own.size() == saved.size(), "{} tensors given for a model with {}", saved.size(), own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    TRIBUTARY_CHECK(own[i].name == saved[i].name, "found tensor {} instead of {}", saved[i].name, own[i].name);
    own[i].value.detach().copy_(saved[i].value);
  }
}

torch::Device SourceModel::device() const {
  return state().front().value.device();
}

void SourceModel::to(torch::Device device) {
  for (NamedTensor& tensor : state()) tensor.value.set_data(tensor.value.detach().to(device));
  output_map_.to(device);
}

bool SourceModel::capturable() const {
  return layered() != nullptr && layered()->memory().micro_batch == 0;
}

LayeredSource* SourceModel::layered() {
  return dynamic_cast<LayeredSource*>(body_.get());
}

const LayeredSource* SourceModel::layered() const {
  return dynamic_cast<const LayeredSource*>(body_.get());
}

const ScriptedSource* SourceModel::scripted() const {
  return dynamic_cast<const ScriptedSource*>(body_.get());
}

NamedTensors copy_of(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const NamedTensor& tensor : tensors) copies.push_back({tensor.name, tensor.value.detach().clone()});
  return copies;
}

}  // namespace tributary
