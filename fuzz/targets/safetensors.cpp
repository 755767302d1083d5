// Fuzzes safetensors files (io/safetensors.h), the model descriptions in their metadata (io/model_info.h) and the names
// of their tensors (io/weight_names.h, io/dialects.h).
#include "tributary/io/safetensors.h"
#include "fuzz/input.h"
#include "tributary/io/dialects.h"
#include "tributary/io/model_info.h"
#include "tributary/io/weight_names.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject([&] {
    const SafetensorsFile file = SafetensorsFile::parse({data, data + size}, "input");
    size_t covered = 0;
    for (const TensorEntry& entry : file.entries()) {
      fuzz::require(file.find(entry.name) == &entry, "a tensor that is not found by its name");
      covered += entry.data.size();
    }
    fuzz::require(covered <= size, "tensors larger than the file");
    std::vector<std::string> names;
    std::vector<ForeignTensor> tensors;
    for (const TensorEntry& entry : file.entries()) {
      names.push_back(entry.name);
      tensors.push_back({entry.name, entry.shape});
    }
    fuzz::require(our_names(tensors).size() == names.size(), "another number of names");
    fuzz::require(translate_names(without_wrapper_prefixes(names)).size() == names.size(), "another number of names");
    for (const auto& [key, value] : file.metadata())
      fuzz::read_or_reject([&, &text = value] { to_json(model_info_from_json(text, "input")); });
  });
  return 0;
}
