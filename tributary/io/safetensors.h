// Reads and writes safetensors files, without a tensor library.
//
// A file has eight bytes of header length (little endian), a JSON header with the type, shape and byte range of every
// tensor, and the data. Files are untrusted: the header has at most 100 MB, names are unique, shapes and types must
// match the byte ranges, and the ranges must cover the data without gap or overlap. Memory use is bounded by the size
// of the file and its header.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL };

size_t size_of(DType dtype);            // bytes per element
std::string_view name_of(DType dtype);  // as in the header: "F32"
std::optional<DType> dtype_named(std::string_view name);

// A named tensor that does not own its data: little endian, row-major, possibly unaligned (copy with memcpy).
struct TensorEntry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const uint8_t> data;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// A file in memory and its tensors. Not copyable: the entries point into the bytes.
class SafetensorsFile {
 public:
  // Reads and validates the whole file; throws an InputError that names it.
  static SafetensorsFile read(const std::string& path);

  // The same for bytes in memory; `name` is the file in error messages.
  static SafetensorsFile parse(std::vector<uint8_t> bytes, std::string name);

  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in the order of their data
  const SafetensorsMetadata& metadata() const { return metadata_; }

  const TensorEntry* find(std::string_view tensor) const;  // null if there is none
  const TensorEntry& at(std::string_view tensor) const;    // throws an InputError if there is none

 private:
  SafetensorsFile() = default;

  std::string name_;
  std::vector<uint8_t> bytes_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  SafetensorsMetadata metadata_;
};

// Writes the entries atomically, sorted by element size (largest first) and name. The bytes do not depend on the order
// of `entries`, and every tensor is aligned to its type when the file is mapped.
void write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                       const SafetensorsMetadata& metadata = {});

}  // namespace tributary
