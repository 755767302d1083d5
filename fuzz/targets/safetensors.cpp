// Fuzzes safetensors files (io/safetensors.h) and the model descriptions in their metadata (io/model_info.h).
#include "tributary/io/safetensors.h"
#include "fuzz/input.h"
#include "tributary/io/model_info.h"

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
    for (const auto& [key, value] : file.metadata())
      fuzz::read_or_reject([&, &text = value] { to_json(model_info_from_json(text, "input")); });
  });
  return 0;
}
