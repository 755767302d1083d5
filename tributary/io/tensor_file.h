// Reads named tensors from safetensors files and PyTorch state dictionaries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

enum class FileFormat { kSafetensors, kPytorchZip, kPytorchLegacy, kTorchScript };
std::string name_of(FileFormat format);  // "pytorch-zip"

// Detects the format by content. Unknown content counts as safetensors, whose reader reports the error. Throws an
// InputError if the file cannot be read.
FileFormat format_of(const std::string& path);

// A file in memory and its tensors. Reading runs no code and validates every field; see the readers.
class TensorFile {
 public:
  // Throws an InputError if the file is invalid or a TorchScript archive.
  static TensorFile read(const std::string& path);

  const std::string& path() const { return path_; }
  FileFormat format() const { return format_; }
  const std::vector<TensorEntry>& entries() const { return *entries_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }       // empty for PyTorch's formats
  const std::vector<std::string>& ignored() const { return ignored_; }    // other keys of a PyTorch file
  const std::vector<std::string>& wrappers() const { return wrappers_; }  // keys that lead to a PyTorch file's tensors

  const std::string& prefix() const { return prefix_; }  // removed from all names of a PyTorch file

 private:
  TensorFile() = default;

  std::string path_;
  FileFormat format_ = FileFormat::kSafetensors;
  std::shared_ptr<const void> file_;  // owns the bytes that the entries point to
  const std::vector<TensorEntry>* entries_ = nullptr;
  SafetensorsMetadata metadata_;
  std::vector<std::string> ignored_;
  std::vector<std::string> wrappers_;
  std::string prefix_;
};

}  // namespace tributary
