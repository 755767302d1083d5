// A file of named tensors, whoever wrote it: safetensors, or a PyTorch state dictionary in either of its formats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

enum class FileFormat { kSafetensors, kPytorchZip, kPytorchLegacy, kTorchScript };
std::string name_of(FileFormat format);  // "pytorch-zip"

// What a file is by its content; an InputError where it cannot be read. Whatever else it is, it is taken for
// safetensors, whose reader says what is wrong with it.
FileFormat format_of(const std::string& path);

// A file in memory and the tensors in it. Variant runs nothing and believes nothing; see the readers.
class TensorFile {
 public:
  // An InputError names the file and what is wrong with it; TorchScript is refused.
  static TensorFile read(const std::string& path);

  const std::string& path() const { return path_; }
  FileFormat format() const { return format_; }
  const std::vector<TensorEntry>& entries() const { return *entries_; }
  const SafetensorsMetadata& metadata() const { return metadata_; }     // empty for PyTorch's formats
  const std::vector<std::string>& ignored() const { return ignored_; }  // what else a checkpoint holds

 private:
  TensorFile() = default;

  std::string path_;
  FileFormat format_ = FileFormat::kSafetensors;
  std::shared_ptr<const void> file_;  // owns the bytes that the entries point to
  const std::vector<TensorEntry>* entries_ = nullptr;
  SafetensorsMetadata metadata_;
  std::vector<std::string> ignored_;
};

}  // namespace tributary
