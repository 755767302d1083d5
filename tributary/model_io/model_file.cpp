#include "tributary/model_io/model_file.h"

#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"
#include "tributary/model/scripted_source.h"
#include "tributary/model_io/source_spec.h"

namespace tributary {
namespace {

constexpr const char* kFormat = "tributary-1";

// Tensors to be written. `tensors` and `scripts` own the data that the entries point to.
struct Outgoing {
  std::vector<TensorEntry> entries;
  std::vector<Tensor> tensors;
  std::deque<std::string> scripts;  // contents of TorchScript files

  void add(const std::string& name, const Tensor& value) {
    const Tensor host = value.detach().to(torch::kCPU).contiguous();
    const bool integer = host.scalar_type() == torch::kInt64;
    TRIBUTARY_CHECK(integer || host.scalar_type() == torch::kFloat32, "{} is neither int64 nor float32", name);
    tensors.push_back(host);
    entries.push_back({name,
                       integer ? DType::I64 : DType::F32,
                       host.sizes().vec(),
                       {static_cast<const uint8_t*>(host.data_ptr()), host.nbytes()}});
  }

  void add(const std::string& prefix, const SourceModel& source) {
    if (const ScriptedSource* scripted = source.scripted()) {
      scripts.push_back(scripted->bytes());
      const std::string& bytes = scripts.back();
      entries.push_back({prefix + kTorchScript,
                         DType::U8,
                         {static_cast<int64_t>(bytes.size())},
                         {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}});
      return;
    }
    for (const NamedTensor& tensor : source.state()) add(prefix + tensor.name, tensor.value);
  }
};

Tensor read_tensor(const SafetensorsFile& file, const std::string& name) {
  return tensor_of(file.at(name), file.name());
}

std::string metadata_of(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    input_error(
        "{} is a safetensors file but not a Tributary model (no '{}' in its metadata); write one with: tributary train",
        file.name(), key);
  return found->second;
}

// "source" or "mixture".
std::string kind_of(const SafetensorsFile& file) {
  const std::string format = metadata_of(file, "format");
  if (format != kFormat) input_error("{} has format '{}', but this program reads '{}'", file.name(), format, kFormat);
  return metadata_of(file, "kind");
}

SourceModel assemble_script(const SafetensorsFile& file, const ModelInfo& info, const std::string& prefix, bool trust) {
  if (!trust)
    input_error("{} holds TorchScript ({}), which is code; add --trust if you trust its author", file.name(),
                info.name);
  const TensorEntry& entry = file.at(prefix + kTorchScript);
  auto body = std::make_unique<ScriptedSource>(std::string(entry.data.begin(), entry.data.end()), file.name(),
                                               info.last_layer, info.preprocessing.size);
  if (body->feature_width() != info.feature_width || body->classes() != info.output_count())
    input_error("{}: the TorchScript of {} does not match its description; the file is damaged", file.name(),
                info.name);
  SourceModel source(info, std::move(body));
  source.set_file(file.name());
  return source;
}

SourceModel assemble(const SafetensorsFile& file, const ModelInfo& info, const std::string& prefix, bool trust) {
  if (info.architecture == kTorchScript) return assemble_script(file, info, prefix, trust);
  if (!info.bottleneck && info.feature_width != make_backbone(info.architecture, info.first_stride, {}).width)
    input_error("{}: {} does not have {} features; the file is damaged", file.name(), info.architecture,
                info.feature_width);
  try {
    require_preprocessing(architecture(info.architecture), info.preprocessing);
  } catch (const InputError& error) {
    input_error("{}: {}", file.name(), error.what());
  }
  const auto require = [&](bool same, const std::string& tensor) {
    if (!same)
      input_error("{}: tensor {} has another shape or dtype than {} with {} classes needs; the file is damaged",
                  file.name(), prefix + tensor, info.architecture, info.output_count());
  };
  // The description may claim 10^6 outputs of 65,536 features: compare it with the file before memory is allocated.
  const std::string head = info.classifier == ClassifierKind::kLinear ? "classifier.weight" : "classifier.weight_v";
  require(file.at(prefix + head).shape == std::vector<int64_t>{info.output_count(), info.feature_width}, head);
  SourceModel source(info, Init());
  NamedTensors state = source.state();
  for (NamedTensor& tensor : state) {
    const Tensor value = read_tensor(file, prefix + tensor.name);
    require(value.sizes() == tensor.value.sizes() && value.scalar_type() == tensor.value.scalar_type(), tensor.name);
    tensor.value = value;
  }
  source.restore(state);
  require_usable(source, file.name());
  return source;
}

SourceModel assemble_source(const SafetensorsFile& file, bool trust) {
  const ModelInfo info = model_info_from_json(metadata_of(file, "model"), file.name());
  SourceModel source = assemble(file, info, "", trust);
  if (source.known().defined())
    input_error("{}: the model has no output for one of its {} classes; the file is damaged", file.name(),
                info.classes.size());
  return source;
}

Combination rule_named(const std::string& name, const std::string& file) {
  for (const auto& [known, rule] : combination_names())
    if (known == name) return rule;
  input_error("{}: unknown mixture rule '{}'", file, name);
}

std::string name_of_rule(Combination rule) {
  for (const auto& [name, known] : combination_names())
    if (known == rule) return name;
  return {};
}

double temperature_from(const std::string& text, const std::string& file) {
  constexpr double kLeast = 1e-3, kMost = 1e3;
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const double temperature = value.is_number() ? value.get<double>() : 0;
  if (!(temperature >= kLeast && temperature <= kMost))
    input_error("{}: its temperature is '{}' instead of a number from {} to {}; the file is damaged", file,
                printable(text), kLeast, kMost);
  return temperature;
}

Ensemble assemble_mixture(const SafetensorsFile& file, bool trust) {
  Ensemble ensemble;
  const std::vector<ModelInfo> infos = model_infos_from_json(metadata_of(file, "sources"), file.name());
  for (size_t j = 0; j < infos.size(); ++j)
    ensemble.sources.push_back(assemble(file, infos[j], fmt::format("source.{}.", j), trust));
  require_compatible(ensemble.sources, std::vector<std::string>(infos.size(), file.name()));
  if (const Tensor known = ensemble.known(); known.defined() && !are_linked(known))
    input_error("{}: a class has no source, or sources have no class in common; the file is damaged", file.name());
  ensemble.mixture.rule = rule_named(metadata_of(file, "rule"), file.name());
  if (file.find("weights")) {
    ensemble.mixture.weights = read_tensor(file, "weights");
    if (ensemble.mixture.weights.sizes() != torch::IntArrayRef({ensemble.size()}))
      input_error("{}: the number of mixture weights is not that of its {} sources; the file is damaged", file.name(),
                  ensemble.size());
    constexpr double kLargestWeight = 1e6;
    if (ensemble.mixture.weights.abs().max().item<double>() > kLargestWeight)
      input_error("{}: a mixture weight is beyond {:g}; the file is damaged", file.name(), kLargestWeight);
  } else if (ensemble.mixture.rule == Combination::kWeightedLogits ||
             ensemble.mixture.rule == Combination::kWeightedProbabilities) {
    input_error("{}: the mixture's weights are missing; the file is damaged", file.name());
  }
  if (const auto found = file.metadata().find("temperature"); found != file.metadata().end())
    ensemble.mixture.temperature = temperature_from(found->second, file.name());
  return ensemble;
}

}  // namespace

void save_source(const std::string& path, const SourceModel& source, const SafetensorsMetadata& record) {
  Outgoing out;
  out.add("", source);
  SafetensorsMetadata metadata = {{"format", kFormat}, {"kind", "source"}, {"model", to_json(source.info())}};
  metadata.insert(record.begin(), record.end());
  write_safetensors(path, out.entries, metadata);
}

void save_ensemble(const std::string& path, const Ensemble& ensemble) {
  Outgoing out;
  nlohmann::json infos = nlohmann::json::array();
  for (size_t j = 0; j < ensemble.sources.size(); ++j) {
    out.add(fmt::format("source.{}.", j), ensemble.sources[j]);
    ModelInfo info = ensemble.sources[j].info();
    info.calibration.reset();  // adapted weights have none, and a mixture's sources are not adapted again
    infos.push_back(nlohmann::json::parse(to_json(info)));
  }
  if (ensemble.mixture.weights.defined()) out.add("weights", ensemble.mixture.weights);
  SafetensorsMetadata metadata = {{"format", kFormat},
                                  {"kind", "mixture"},
                                  {"sources", json_text(infos)},
                                  {"rule", name_of_rule(ensemble.mixture.rule)}};
  if (ensemble.mixture.temperature != 1) metadata["temperature"] = fmt::format("{}", ensemble.mixture.temperature);
  write_safetensors(path, out.entries, metadata);
}

std::vector<ModelInfo> describe_sources(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  if (kind_of(file) == "mixture") return model_infos_from_json(metadata_of(file, "sources"), path);
  return {model_info_from_json(metadata_of(file, "model"), path)};
}

bool is_ours(const SafetensorsFile& file) {
  return file.metadata().count("kind") > 0;
}

namespace {

// Weights of another program. A run ends with a model file that describes them: throws now what reading it would throw.
SourceModel imported_source(const std::string& path, const ImportOptions& options, bool script) {
  SourceModel source = script ? import_script(path, options) : import_source(path, options);
  model_info_from_json(to_json(source.info()), path);
  return source;
}

}  // namespace

SourceModel load_source(const std::string& path, const ImportOptions& options, bool* imported) {
  if (imported != nullptr) *imported = true;
  std::error_code error;
  if (std::filesystem::exists(path + "/config.toml", error))
    input_error("{0} is the folder of a run, not a single source; adapt its result further with tributary continue {0}",
                path);
  const FileFormat format = is_triplet(path) ? FileFormat::kPytorchZip : format_of(path);
  if (format != FileFormat::kSafetensors) return imported_source(path, options, format == FileFormat::kTorchScript);
  const SafetensorsFile file = SafetensorsFile::read(path);
  if (!is_ours(file)) return imported_source(path, options, false);
  const std::string kind = kind_of(file);
  if (kind != "source")
    input_error("{} is a {}, not a single source; adapt it further with tributary continue, or distil it into one",
                path, kind);
  if (imported != nullptr) *imported = false;
  return assemble_source(file, options.trust);
}

Ensemble load_ensemble(const std::string& source, const ImportOptions& options, std::vector<std::string>* notices) {
  const SourceSpec spec = parse_source(source, options);
  if (!is_triplet(spec.path) && format_of(spec.path) == FileFormat::kSafetensors) {
    const SafetensorsFile file = SafetensorsFile::read(spec.path);
    if (is_ours(file) && kind_of(file) == "mixture") {
      refuse_description(spec.options, spec.path);
      return assemble_mixture(file, spec.options.trust);
    }
  }
  return load_sources({source}, options, notices);
}

}  // namespace tributary
