// Reads numeric arrays of MATLAB 5 files (.mat).
//
// A file has a header of 128 bytes and elements (type, length, data). An array is an element of elements (flags, size,
// name, numbers) and may be deflated as a whole. Arrays of real numbers are read, also inside cell arrays; others are
// ignored. MATLAB 7.3 files are HDF5 and not supported. Files are untrusted: sizes are checked against the file, memory
// grows only with the data, and checksums of deflated arrays are verified. Errors are InputErrors that name the file.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

// Storage types, with MATLAB's codes.
enum class MatNumber {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
};

struct MatArray {
  std::vector<int64_t> sizes;  // column-major: the first dimension is contiguous
  bool floating = false;       // double or single in MATLAB, which may store them as integers
  MatNumber stored = MatNumber::kUint8;
  std::vector<uint8_t> bytes;  // count() numbers, little endian

  int64_t count() const;
  double at(int64_t index) const;
};

// Names an array, or one inside a cell array.
struct MatKey {
  std::string name;
  int64_t cell = -1;  // column-major index from 0; -1: the array itself
};

class MatFile {
 public:
  // Lists the arrays without reading their numbers.
  explicit MatFile(const std::string& path);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const;

  // Reads an array without or with its numbers.
  MatArray outline(const MatKey& key) { return get(key, false); }
  MatArray read(const MatKey& key) { return get(key, true); }

 private:
  // The position of an array's element.
  struct Entry {
    std::string name;
    int64_t at = 0;
    int64_t bytes = 0;
    bool deflated = false;
  };

  void check_header();
  void list_entries();
  MatArray get(const MatKey& key, bool with_numbers);

  std::string path_;
  std::ifstream file_;
  int64_t file_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tributary
