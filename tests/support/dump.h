// Writes tensors and a configuration to a safetensors file, for comparison with a reference implementation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/io/safetensors.h"
#include "tributary/model/layers.h"

namespace tributary::test {

class Dump {
 public:
  // Adds a copy of the current values. Booleans become int64.
  void add(const std::string& name, const Tensor& value) {
    Tensor copy = value.detach().clone(at::MemoryFormat::Contiguous);
    if (copy.scalar_type() == torch::kBool) copy = copy.to(torch::kInt64);
    const DType type = copy.scalar_type() == torch::kInt64     ? DType::I64
                       : copy.scalar_type() == torch::kFloat64 ? DType::F64
                                                               : DType::F32;
    copies_.push_back(copy);
    entries_.push_back({name, type, copy.sizes().vec(), {static_cast<const uint8_t*>(copy.data_ptr()), copy.nbytes()}});
  }
  void add(const std::string& name, double value) { add(name, torch::tensor(value, torch::kFloat64)); }
  void add(const std::string& prefix, const NamedTensors& tensors) {
    for (const NamedTensor& tensor : tensors) add(prefix + tensor.name, tensor.value);
  }
  // Adds `values` with the names of other tensors.
  void add(const std::string& prefix, const NamedTensors& names, const std::vector<Tensor>& values) {
    for (size_t i = 0; i < names.size(); ++i) add(prefix + names[i].name, values[i]);
  }
  void add(const std::string& prefix, const std::vector<Tensor>& values) {
    for (size_t i = 0; i < values.size(); ++i) add(prefix + std::to_string(i), values[i]);
  }
  void write(const std::string& path, const nlohmann::json& config) const {
    write_safetensors(path, entries_, {{"config", config.dump()}});
  }

 private:
  std::vector<Tensor> copies_;
  std::vector<TensorEntry> entries_;
};

}  // namespace tributary::test
