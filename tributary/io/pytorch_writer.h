// State dictionaries that Python loads with torch.load(path, weights_only=True), written without Torch.
//
// torch::save of the C++ library writes a TorchScript archive, which is code. What people pass around is the file of
// Python's torch.save: a zip archive with a pickle that describes the tensors and one uncompressed entry a storage. The
// pickle names nothing but collections.OrderedDict, torch._utils._rebuild_tensor_v2 and the types of storages, so it
// loads where running foreign code is switched off.
#pragma once

#include <span>
#include <string>

#include "tributary/io/safetensors.h"

namespace tributary {

// Writes the entries atomically as an OrderedDict in the order given, each contiguous in a storage of its own. The same
// entries give the same bytes whatever the path. Storages begin at multiples of 64 bytes so that a file can be mapped,
// as PyTorch's do, and files beyond 4 GiB use ZIP64. An InputError for a name that is not UTF-8.
void write_state_dict(const std::string& path, std::span<const TensorEntry> entries);

}  // namespace tributary
