// MATLAB 5 files (.mat): arrays of numbers by name.
//
// A header of 128 bytes, then elements: a type, a length, bytes. An array is an element made of elements (what it is,
// its size, its name, its numbers) and may be deflated as a whole. Arrays of real numbers are read, also those inside a
// cell array; everything else is passed over. Files of MATLAB 7.3 are HDF5 under the same name and are refused.
//
// Files are untrusted: no size is believed beyond what the file can hold, memory grows only with what really arrives,
// and the checksum of a deflated array must be right. Every complaint is an InputError that names the file.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace tributary {

// How numbers lie in a file, by MATLAB's codes.
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
  std::vector<int64_t> sizes;  // the first one runs fastest
  bool floating = false;       // doubles or singles to MATLAB, which stores them as bytes where these will do
  MatNumber stored = MatNumber::kUint8;
  std::vector<uint8_t> bytes;  // count() numbers, lowest byte first

  int64_t count() const;
  double at(int64_t index) const;
};

// An array of a file, or one of those inside a cell array.
struct MatPlace {
  std::string name;
  int64_t cell = -1;  // down the columns, from 0; -1: the array itself
};

class MatFile {
 public:
  // Lists the arrays. Their numbers are left where they are.
  explicit MatFile(const std::string& path);

  std::vector<std::string> names() const;
  bool has(const std::string& name) const;

  // An array without its numbers, and with them.
  MatArray outline(const MatPlace& place) { return get(place, false); }
  MatArray read(const MatPlace& place) { return get(place, true); }

 private:
  // An array's element: where its bytes are.
  struct Entry {
    std::string name;
    int64_t at = 0;
    int64_t bytes = 0;
    bool deflated = false;
  };

  void check_header();
  void list_entries();
  MatArray get(const MatPlace& place, bool with_numbers);

  std::string path_;
  std::ifstream file_;
  int64_t file_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tributary
