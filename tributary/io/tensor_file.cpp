#include "tributary/io/tensor_file.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/io/pytorch_file.h"
#include "tributary/io/zip_reader.h"

namespace tributary {
namespace {

bool is_torchscript(std::span<const uint8_t> bytes, const std::string& path) {
  const ZipReader zip(bytes, path);
  return std::any_of(zip.entries().begin(), zip.entries().end(),
                     [](const ZipEntry& entry) { return entry.name.ends_with("/constants.pkl"); });
}

}  // namespace

std::string name_of(FileFormat format) {
  switch (format) {
    case FileFormat::kSafetensors:
      return "safetensors";
    case FileFormat::kPytorchZip:
      return "pytorch-zip";
    case FileFormat::kPytorchLegacy:
      return "pytorch-legacy";
    case FileFormat::kTorchScript:
      return "torchscript";
  }
  return {};
}

FileFormat format_of(const std::string& path) {
  std::ifstream file = open_regular(path);
  std::array<char, 32> start = {};
  file.read(start.data(), start.size());
  const std::span<const uint8_t> head(reinterpret_cast<const uint8_t*>(start.data()),
                                      static_cast<size_t>(file.gcount()));
  if (!looks_like_pytorch_file(head)) {
    if (path.ends_with(".onnx"))
      input_error("{} is an ONNX file, which tributary writes but does not read; name the model it was made from",
                  path);
    // JSON follows the length of the header.
    if (!path.ends_with(".safetensors") && !head.empty() && (head.size() < 9 || head[8] != '{'))
      input_error("{} is neither a PyTorch nor a safetensors file; name a model", path);
    return FileFormat::kSafetensors;
  }
  if (head[0] != 'P') return FileFormat::kPytorchLegacy;
  return is_torchscript(read_file(path), path) ? FileFormat::kTorchScript : FileFormat::kPytorchZip;
}

TensorFile TensorFile::read(const std::string& path) {
  TensorFile result;
  result.path_ = path;
  std::vector<uint8_t> bytes = read_file(path);
  if (looks_like_pytorch_file(bytes)) {
    auto file = std::make_shared<PytorchFile>(PytorchFile::parse(std::move(bytes), path));
    result.format_ = file->legacy() ? FileFormat::kPytorchLegacy : FileFormat::kPytorchZip;
    result.entries_ = &file->entries();
    result.ignored_ = file->ignored();
    result.wrappers_ = file->wrappers();
    result.prefix_ = file->prefix();
    result.file_ = std::move(file);
  } else {
    auto file = std::make_shared<SafetensorsFile>(SafetensorsFile::parse(std::move(bytes), path));
    result.entries_ = &file->entries();
    result.metadata_ = file->metadata();
    result.file_ = std::move(file);
  }
  return result;
}

}  // namespace tributary
