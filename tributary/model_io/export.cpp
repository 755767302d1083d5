#include "tributary/model_io/export.h"

#include <deque>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/io/pytorch_writer.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

// A source's tensors under the names of torchvision, or of timm where only timm has the architecture. Bottleneck and
// classifier are folded into its last layer.
NamedTensors library_state(const LayeredSource& source, bool torchvision) {
  NamedTensors state;
  const TensorList list = source.network().tensors(torchvision ? Naming::kTorchvision : Naming::kTimm);
  for (const NamedTensors& part : {list.parameters, list.buffers})
    for (const NamedTensor& tensor : part)
      state.push_back({tensor.name, tensor.name.ends_with(".gamma") ? tensor.value.flatten() : tensor.value});
  if (torchvision)
    for (const NamedTensor& constant : source.network().constants()) state.push_back(constant);
  const Affine head = source.folded_head();
  const std::string last = torchvision ? source.head().torchvision : source.head().timm;
  state.push_back({last + ".weight", head.weight});
  state.push_back({last + ".bias", head.bias});
  return state;
}

NamedTensors own_state(const Ensemble& ensemble) {
  NamedTensors state;
  for (int64_t j = 0; j < ensemble.size(); ++j)
    for (NamedTensor& tensor : ensemble.sources[j].state()) {
      if (ensemble.size() > 1) tensor.name = fmt::format("source.{}.{}", j, tensor.name);
      state.push_back(std::move(tensor));
    }
  if (ensemble.mixture.weights.defined()) state.push_back({"weights", ensemble.mixture.weights});
  if (ensemble.mixture.temperature != 1)
    state.push_back({"temperature", torch::full({1}, ensemble.mixture.temperature, torch::kFloat32)});
  return state;
}

}  // namespace

PixelScale pixel_scale(const Normalisation& normalisation) {
  const auto three = [](const std::array<double, 3>& values) {
    return torch::tensor({values[0], values[1], values[2]}, torch::kFloat64).view({1, 3, 1, 1});
  };
  const Tensor deviation = three(normalisation.deviation);
  return {(1 / (255 * deviation)).to(torch::kFloat32), (-three(normalisation.mean) / deviation).to(torch::kFloat32)};
}

OutputParts output_parts(const SourceModel& source) {
  OutputParts result;
  const Tensor table = source.output_map().table();
  if (!table.defined()) return result;
  constexpr double kNone = -1e30;
  const bool merges = table.size(1) > 1;
  for (int64_t p = 0; p < table.size(1); ++p) {
    const Tensor output = table.select(1, p).cpu();
    const Tensor weight = (output.unsqueeze(1) == torch::arange(source.info().output_count())).to(torch::kFloat32);
    result.parts.push_back(
        {weight, merges ? (output < 0).to(torch::kFloat32) * kNone : torch::zeros({output.size(0)}, torch::kFloat32)});
  }
  if (merges && source.known().defined()) result.known = source.known().cpu().to(torch::kFloat32).unsqueeze(0);
  return result;
}

Tensor completion_matrix(const Ensemble& ensemble) {
  const Tensor known = ensemble.known();
  if (!known.defined()) return {};
  const int64_t m = known.size(0), classes = known.size(1);
  const Tensor unit = torch::eye(m * classes).view({m * classes, m, classes}).permute({1, 0, 2});
  return complete_logits(unit, known).permute({1, 0, 2}).reshape({m * classes, m * classes}).contiguous();
}

nlohmann::json export_facts(const Ensemble& ensemble) {
  nlohmann::json sources = nlohmann::json::array();
  for (const SourceModel& source : ensemble.sources)
    sources.push_back({{"name", source.info().name},
                       {"architecture", source.info().architecture},
                       {"mean", source.info().normalisation.mean},
                       {"deviation", source.info().normalisation.deviation}});
  const Preprocessing& preprocessing = ensemble.preprocessing();
  return {{"classes", ensemble.classes()},
          {"size", preprocessing.size},
          {"resize", preprocessing.resize},
          {"aspect", preprocessing.keep_aspect ? "keep" : "stretch"},
          {"interpolation", preprocessing.bicubic ? "bicubic" : "bilinear"},
          {"sources", sources}};
}

void export_card(const std::string& path, const Ensemble& ensemble) {
  nlohmann::json card = export_facts(ensemble);
  const int size = ensemble.preprocessing().size;
  card["input"] = {{"name", "pixels"}, {"type", "uint8"}, {"shape", {"batch", size, size, 3}}, {"channels", "RGB"}};
  card["output"] = {{"name", "probabilities"}, {"type", "float32"}, {"shape", {"batch", ensemble.classes().size()}}};
  write_file_atomically(path, json_text(card, 2) + "\n");
}

void export_state_dict(const std::string& path, const Ensemble& ensemble) {
  for (const SourceModel& source : ensemble.sources) {
    if (source.layered() == nullptr)
      input_error("source {} is TorchScript, which has no state dictionary; use --torchscript", source.info().name);
    if (!source.output_map().empty())
      input_error("source {} merges or lacks classes, which a state dictionary cannot say; use --torchscript or --onnx",
                  source.info().name);
  }
  const SourceModel& first = ensemble.sources.front();
  const std::string& network = first.info().architecture;
  const bool alone = ensemble.size() == 1 && architecture(network).photographs;
  std::vector<Tensor> on_host;
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor :
       alone ? library_state(*first.layered(), architecture(network).torchvision) : own_state(ensemble)) {
    on_host.push_back(tensor.value.detach().to(torch::kCPU).contiguous());
    const Tensor& own = on_host.back();
    entries.push_back({tensor.name,
                       own.scalar_type() == torch::kInt64 ? DType::I64 : DType::F32,
                       own.sizes().vec(),
                       {static_cast<const uint8_t*>(own.data_ptr()), own.nbytes()}});
  }
  write_state_dict(path, entries);
}

void export_safetensors(const std::string& path, const Ensemble& ensemble) {
  if (ensemble.size() == 1)
    save_source(path, ensemble.sources.front());
  else
    save_ensemble(path, ensemble);
}

}  // namespace tributary
