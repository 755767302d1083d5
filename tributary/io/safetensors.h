// Model files as data: our own reader and writer of the safetensors format, with no tensor library behind it.
//
// A file is eight bytes of header length (little endian), a JSON header that names every tensor with its type, shape
// and byte range, and then the bytes. Files come from strangers, so the reader believes nothing: the header is at most
// 100 MB and lies within the file, no name occurs twice, shapes and types must multiply out to the byte ranges, and the
// ranges must cover the rest of the file without gap or overlap. Nothing is allocated beyond the file's own size and
// what its header holds.
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

size_t size_of(DType dtype);            // bytes an element
std::string_view name_of(DType dtype);  // as in the header: "F32"
std::optional<DType> dtype_named(std::string_view name);

// A named tensor whose bytes live elsewhere: little endian, row-major, not necessarily aligned (copy with memcpy).
struct TensorEntry {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const uint8_t> data;
};

using SafetensorsMetadata = std::map<std::string, std::string>;

// A file in memory and the tensors in it. Movable, not copyable: the entries point into the bytes.
class SafetensorsFile {
 public:
  // Reads and checks the whole file; an InputError names the file and says what is wrong with it.
  static SafetensorsFile read(const std::string& path);

  // The same for bytes already in memory; `name` stands for the file in messages.
  static SafetensorsFile parse(std::vector<uint8_t> bytes, std::string name);

  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<TensorEntry>& entries() const { return entries_; }  // in the order of their bytes
  const SafetensorsMetadata& metadata() const { return metadata_; }

  const TensorEntry* find(std::string_view tensor) const;  // null where there is none
  const TensorEntry& at(std::string_view tensor) const;    // an InputError where there is none

 private:
  SafetensorsFile() = default;

  std::string name_;
  std::vector<uint8_t> bytes_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
  SafetensorsMetadata metadata_;
};

// Writes the entries atomically. The same tensors and metadata give the same bytes whatever order they come in: wide
// types first, then by name, so that every tensor is aligned to its type when the file is mapped.
void write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                       const SafetensorsMetadata& metadata = {});

}  // namespace tributary
