// Tensors for another implementation to compare with its own: a safetensors file with a configuration in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tributary/io/safetensors.h"
#include "tributary/model/layers.h"

namespace tributary::test {

class Dump {
 public:
  // A copy of the values as they are now. Truth values are written as numbers.
  void add(const std::string& name, const Tensor& value) {
    Tensor kept = value.detach().clone(at::MemoryFormat::Contiguous);
    if (kept.scalar_type() == torch::kBool) kept = kept.to(torch::kInt64);
    const DType type = kept.scalar_type() == torch::kInt64     ? DType::I64
                       : kept.scalar_type() == torch::kFloat64 ? DType::F64
                                                               : DType::F32;
    kept_.push_back(kept);
    entries_.push_back({name, type, kept.sizes().vec(), {static_cast<const uint8_t*>(kept.data_ptr()), kept.nbytes()}});
  }
  void add(const std::string& name, double value) { add(name, torch::tensor(value, torch::kFloat64)); }
  void add(const std::string& prefix, const NamedTensors& tensors) {
    for (const NamedTensor& tensor : tensors) add(prefix + tensor.name, tensor.value);
  }
  // Values under the names of others.
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
  std::vector<Tensor> kept_;
  std::vector<TensorEntry> entries_;
};

}  // namespace tributary::test
