// Reads the tensors of PyTorch state dictionaries, without Torch and without running code.
//
// torch.save writes a pickle that describes the tensors, and their storages: as entries of a zip archive, or after the
// pickle in the legacy format of PyTorch before 1.6. Tensors are strided views, and several may share a storage. Here,
// every tensor becomes contiguous row-major bytes, as in a safetensors file. Shapes, strides and offsets are validated
// against the storage before anything is allocated; all copies together are no larger than the file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

// Whether a file that starts with these bytes (32 are enough) is a zip archive or in PyTorch's legacy format.
bool looks_like_pytorch_file(std::span<const uint8_t> bytes);

// A file in memory and its tensors. Not copyable: the entries point into the bytes.
//
// The state dictionary may be the root value or nested under "state_dict", "model_state_dict", "model", "net" or
// "module", or under the names of its moving average ("state_dict_ema", "model_ema") if there is no other. A prefix
// "module." that all tensors share (DataParallel) is removed.
class PytorchFile {
 public:
  // Reads and validates the whole file; throws an InputError that names it.
  static PytorchFile read(const std::string& path);

  // The same for bytes in memory; `name` is the file in error messages.
  static PytorchFile parse(std::vector<uint8_t> bytes, std::string name);

  PytorchFile(PytorchFile&&) = default;
  PytorchFile& operator=(PytorchFile&&) = default;
  PytorchFile(const PytorchFile&) = delete;
  PytorchFile& operator=(const PytorchFile&) = delete;

  const std::string& name() const { return name_; }
  bool legacy() const { return legacy_; }                               // format before PyTorch 1.6
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in the order of the dictionary

  // Paths of all other keys: "epoch", "optimizer", "state_dict.extra".
  const std::vector<std::string>& ignored() const { return ignored_; }

  // The keys that lead to the state dictionary: "state_dict"; none if it is the root value.
  const std::vector<std::string>& wrappers() const { return wrappers_; }

  // The prefix that was removed from all names: "module." or nothing.
  const std::string& prefix() const { return prefix_; }

  const TensorEntry* find(std::string_view tensor) const;  // null if there is none
  const TensorEntry& at(std::string_view tensor) const;    // throws an InputError if there is none

 private:
  friend class StateDictReader;
  PytorchFile() = default;

  std::string name_;
  bool legacy_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<std::vector<uint8_t>> copies_;  // of non-contiguous tensors
  std::vector<TensorEntry> entries_;
  std::vector<std::string> ignored_;
  std::vector<std::string> wrappers_;
  std::string prefix_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace tributary
