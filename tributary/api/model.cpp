#include "tributary/api/model.h"

#include <filesystem>
#include <utility>

#include "tributary/api/model_setup.h"
#include "tributary/api/option_list.h"
#include "tributary/api/picture_input.h"
#include "tributary/api/plain_errors.h"
#include "tributary/api/torch_scope.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/eval/metrics.h"
#include "tributary/model_io/export.h"
#include "tributary/run/models.h"
#include "tributary/train/evaluate.h"

namespace tributary {

struct Model::State {
  ModelSetup setup;
  Ensemble ensemble;
  torch::Device device = torch::kCPU;

  LoadOptions load() const { return setup.data.for_preprocessing(ensemble.preprocessing(), setup.common.threads); }
  Tensor logits(const ImageSet& images) { return evaluate_logits(ensemble, DeviceImages(images, device)); }
  void write(const std::string& path, void (*format)(const std::string&, const Ensemble&)) const {
    with_plain_errors([&] {
      require_writable_target(path);
      make_folder(std::filesystem::absolute(path).parent_path().string());
      format(path, ensemble);
    });
  }
};

Model::Model(const std::string& path, const Settings& settings) : Model(std::vector<std::string>{path}, settings) {}

Model::Model(const std::vector<std::string>& sources, const Settings& settings) : state_(std::make_shared<State>()) {
  with_plain_errors([&] {
    if (sources.empty()) input_error("there are no models in the list; name at least one");
    ModelSetup& setup = state_->setup;
    setup.data.max_skipped = 1;  // an unreadable picture does not affect the others
    apply_settings(setup.table, settings);
    setup.table.apply_flags();
    const TorchScope restored;
    state_->device = setup.common.prepare();
    setup.import.trusts_specs = true;
    state_->ensemble = load_models(sources, setup.rule, setup.import);
    state_->ensemble.to(state_->device);
  });
}

const std::vector<std::string>& Model::classes() const {
  return state_->ensemble.classes();
}

std::vector<std::string> Model::sources() const {
  std::vector<std::string> names;
  for (const SourceModel& source : state_->ensemble.sources) names.push_back(source.info().name);
  return names;
}

Tensor Model::weights() const {
  const Tensor& weights = state_->ensemble.mixture.weights;
  return weights.defined() ? weights.to(torch::kCPU) : weights;
}

const Preprocessing& Model::preprocessing() const {
  return state_->ensemble.preprocessing();
}

Predictions Model::predict(const Pictures& pictures) const {
  Predictions made;
  with_plain_errors([&] {
    const TorchScope restored;
    set_threads(static_cast<int>(state_->setup.common.threads));
    ImageSet images = load_images(pictures, state_->load(), &made.skipped);
    const Tensor logits = state_->logits(images);
    made.probabilities = combine(logits, state_->ensemble.mixture).to(torch::kCPU);
    made.labels = made.probabilities.argmax(1);
    made.logits = logits.to(torch::kCPU);
    made.names = std::move(images.names);
    made.skipped = without_flags(std::move(made.skipped));
  });
  return made;
}

Evaluation Model::evaluate(const Pictures& pictures) const {
  Evaluation made;
  with_plain_errors([&] {
    const TorchScope restored;
    set_threads(static_cast<int>(state_->setup.common.threads));
    const LabelledImages data = load_labelled(pictures, state_->load(), classes(), &made.skipped);
    const Tensor label = torch::tensor(data.labels.values, torch::kInt64).to(state_->device);
    const Tensor logits = state_->logits(data.images);
    const Tensor probabilities = combine(logits, state_->ensemble.mixture);
    const Confusion confusion = confusion_of(probabilities, data.labels);
    made.pictures = data.images.size();
    made.accuracy = accuracy_of(probabilities, label);
    const Tensor own = own_logits(logits, state_->ensemble.known());
    for (int64_t j = 0; j < own.size(0); ++j) made.source_accuracies.push_back(accuracy_of(own[j], label));
    made.class_accuracies = tributary::class_accuracies(confusion);
    made.confusion = dense(confusion);
    made.skipped = without_flags(std::move(made.skipped));
  });
  return made;
}

void Model::export_onnx(const std::string& path) const {
  state_->write(path, tributary::export_onnx);
}

void Model::export_torchscript(const std::string& path) const {
  state_->write(path, tributary::export_torchscript);
}

void Model::export_safetensors(const std::string& path) const {
  state_->write(path, tributary::export_safetensors);
}

void Model::export_state_dict(const std::string& path) const {
  state_->write(path, tributary::export_state_dict);
}

void Model::export_card(const std::string& path) const {
  state_->write(path, tributary::export_card);
}

}  // namespace tributary
