#include "tributary/checkpoint/checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/checkpoint/state_checks.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

constexpr std::pair<torch::ScalarType, DType> kTypes[] = {{torch::kFloat32, DType::F32},
                                                          {torch::kFloat64, DType::F64},
                                                          {torch::kInt64, DType::I64},
                                                          {torch::kBool, DType::BOOL}};

DType type_of(const NamedTensor& tensor) {
  for (const auto& [scalar, type] : kTypes)
    if (tensor.value.scalar_type() == scalar) return type;
  TRIBUTARY_CHECK(false, "checkpoints cannot store the dtype of {}", tensor.name);
}

torch::ScalarType type_of(const TensorEntry& entry, const std::string& path) {
  for (const auto& [scalar, type] : kTypes)
    if (entry.dtype == type) return scalar;
  input_error("{} is not a checkpoint: {} has dtype {}", path, entry.name, name_of(entry.dtype));
}

// CRC-32 over the facts and the name and bytes of every tensor, in the order of their names.
std::string checksum(const std::string& facts, std::vector<TensorEntry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const TensorEntry& one, const TensorEntry& other) { return one.name < other.name; });
  uLong sum = crc32_z(0, nullptr, 0);
  const auto add = [&](const void* bytes, size_t count) {
    if (count > 0) sum = crc32_z(sum, static_cast<const Bytef*>(bytes), count);
  };
  add(facts.data(), facts.size());
  for (const TensorEntry& entry : entries) {
    add(entry.name.data(), entry.name.size() + 1);
    add(entry.data.data(), entry.data.size());
  }
  return fmt::format("{:08x}", sum);
}

const std::string& metadata_of(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) input_error("{} is not a checkpoint (no '{}' in its metadata)", file.name(), key);
  return found->second;
}

}  // namespace

Checkpoint::Checkpoint() : facts_(std::make_unique<nlohmann::json>()) {}

Checkpoint::Checkpoint(const Checkpoint& other)
    : tensors(other.tensors), facts_(std::make_unique<nlohmann::json>(other.facts())) {}

Checkpoint::Checkpoint(Checkpoint&& other) noexcept = default;

Checkpoint& Checkpoint::operator=(Checkpoint other) noexcept {
  std::swap(facts_, other.facts_);
  std::swap(tensors, other.tensors);
  return *this;
}

Checkpoint::~Checkpoint() = default;

void Checkpoint::add(const std::string& prefix, const NamedTensors& more) {
  for (NamedTensor tensor : more) {
    tensor.name = prefix + tensor.name;
    tensors.push_back(std::move(tensor));
  }
}

const Tensor* Checkpoint::find(const std::string& name) const {
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == name) return &tensor.value;
  return nullptr;
}

const Tensor& Checkpoint::at(const std::string& name) const {
  const Tensor* const found = find(name);
  if (!found)
    input_error("the checkpoint has no tensor {}, so it belongs to another run; start over with --restart", name);
  return *found;
}

void Checkpoint::restore(const std::string& prefix, const NamedTensors& into) const {
  torch::NoGradGuard no_grad;
  std::map<std::string, const Tensor*> known;
  for (const NamedTensor& tensor : tensors) known[tensor.name] = &tensor.value;
  for (const NamedTensor& tensor : into) {
    const auto found = known.find(prefix + tensor.name);
    if (found == known.end() || found->second->sizes() != tensor.value.sizes() ||
        found->second->scalar_type() != tensor.value.scalar_type())
      input_error("the checkpoint does not match these models and pictures (tensor {}{}); start over with --restart",
                  prefix, tensor.name);
    tensor.value.detach().copy_(*found->second);
  }
}

int64_t Checkpoint::integer(const char* fact, int64_t low, int64_t high) const {
  if (!facts().contains(fact) || !facts()[fact].is_number_integer())
    input_error("the checkpoint has no integer '{}'; start over with --restart", fact);
  return integer_from(facts()[fact], low, high + 1, fact);
}

double Checkpoint::number(const char* fact, double missing) const {
  if (!facts().contains(fact)) return missing;
  require_in_checkpoint(facts()[fact].is_number() && std::isfinite(facts()[fact].get<double>()), fact);
  return facts()[fact].get<double>();
}

NamedTensors joined_state(std::initializer_list<std::pair<std::string, NamedTensors>> parts) {
  NamedTensors all;
  for (const auto& [name, tensors] : parts)
    for (NamedTensor tensor : tensors) {
      tensor.name = name + "." + tensor.name;
      all.push_back(std::move(tensor));
    }
  return all;
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  std::vector<Tensor> on_host;
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : checkpoint.tensors) {
    on_host.push_back(tensor.value.detach().cpu().contiguous());
    entries.push_back({tensor.name,
                       type_of(tensor),
                       on_host.back().sizes().vec(),
                       {static_cast<const uint8_t*>(on_host.back().data_ptr()), on_host.back().nbytes()}});
  }
  const std::string facts = json_text(checkpoint.facts());
  write_safetensors(path, entries, {{"facts", facts}, {"checksum", checksum(facts, entries)}});
}

Checkpoint read_checkpoint(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  const std::string facts = metadata_of(file, "facts");
  if (checksum(facts, file.entries()) != metadata_of(file, "checksum"))
    input_error("{} is damaged: its checksum does not match", path);
  Checkpoint checkpoint;
  checkpoint.facts() = nlohmann::json::parse(facts, nullptr, /*allow_exceptions=*/false);
  if (!checkpoint.facts().is_object()) input_error("{} is damaged: its facts are not a JSON object", path);
  for (const TensorEntry& entry : file.entries()) {
    const Tensor value = torch::empty(entry.shape, type_of(entry, path));
    if (!entry.data.empty()) std::memcpy(value.data_ptr(), entry.data.data(), entry.data.size());
    checkpoint.tensors.push_back({entry.name, value});
  }
  return checkpoint;
}

}  // namespace tributary
