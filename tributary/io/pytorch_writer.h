// Writes state dictionaries for torch.load(path, weights_only=True), without Torch.
//
// torch::save in C++ writes a TorchScript archive, which is code. Python's torch.save writes a zip archive: a pickle
// that describes the tensors, and one uncompressed entry per storage. Our pickles use only collections.OrderedDict,
// torch._utils._rebuild_tensor_v2 and storage types, so they load with weights_only=True.
#pragma once

#include <span>
#include <string>

#include "tributary/io/safetensors.h"

namespace tributary {

// Writes the entries atomically as an OrderedDict in the given order, one contiguous storage per tensor. The bytes
// depend on the entries only, not on the path. As in PyTorch, storages are aligned to 64 bytes for mmap, and files
// beyond 4 GiB use ZIP64. Throws an InputError for names that are not UTF-8.
void write_state_dict(const std::string& path, std::span<const TensorEntry> entries);

}  // namespace tributary
