// PyTorch checkpoints as data: the tensors of a state dictionary, without Torch and without running anything.
//
// torch.save writes a pickle that describes the tensors and, apart from it, the storages they lie in: as entries of a
// zip archive, or one after the other behind the pickle in the older format of PyTorch before 1.6. A tensor is a view
// of a storage, so several may share one and its elements need not lie in order; here every tensor comes out as
// contiguous row-major bytes, the same view a safetensors file gives. Shapes, strides and offsets are checked against
// the storage before anything is allocated, and all copies together are no larger than the file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

// Whether a file that begins with these bytes (32 are enough) is a zip archive or of PyTorch's older format.
bool looks_like_pytorch_file(std::span<const uint8_t> bytes);

// A file in memory and the tensors in it. Movable, not copyable: the entries point into the bytes.
//
// The state dictionary may be the file's value or lie in dictionaries around it, under "state_dict",
// "model_state_dict", "model", "net" or "module". A prefix "module." that all tensors have (DataParallel) is taken off.
class PytorchFile {
 public:
  // Reads and checks the whole file; an InputError names the file and says what is wrong with it.
  static PytorchFile read(const std::string& path);

  // The same for bytes already in memory; `name` stands for the file in messages.
  static PytorchFile parse(std::vector<uint8_t> bytes, std::string name);

  PytorchFile(PytorchFile&&) = default;
  PytorchFile& operator=(PytorchFile&&) = default;
  PytorchFile(const PytorchFile&) = delete;
  PytorchFile& operator=(const PytorchFile&) = delete;

  const std::string& name() const { return name_; }
  bool legacy() const { return legacy_; }                               // the format before PyTorch 1.6
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in the order of the dictionary

  // What else the dictionaries hold, by the path from the file's value: "epoch", "optimizer", "state_dict.extra".
  const std::vector<std::string>& ignored() const { return ignored_; }

  const TensorEntry* find(std::string_view tensor) const;  // null where there is none
  const TensorEntry& at(std::string_view tensor) const;    // an InputError where there is none

 private:
  friend class CheckpointReader;
  PytorchFile() = default;

  std::string name_;
  bool legacy_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<std::vector<uint8_t>> copies_;  // of tensors that do not lie in order
  std::vector<TensorEntry> entries_;
  std::vector<std::string> ignored_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace tributary
