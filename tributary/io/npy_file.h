// Reads and writes NumPy arrays (.npy, and the entries of .npz), without NumPy.
//
// Files are untrusted: the header is parsed as text, never evaluated, and the shape must fit the bytes that follow
// before anything is allocated. Arrays of objects would need pickle and are refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary {

// A view of the bytes of an array in C order, which must outlive it.
struct NpyArray {
  std::string dtype;           // as in the file: "<f4", "<U20"
  std::vector<int64_t> shape;  // empty for a scalar
  std::span<const uint8_t> data;
  size_t count = 0;  // of elements
};

// Throws an InputError that names `file` if the bytes are not a NumPy array in C order whose data fit its shape.
NpyArray parse_npy(std::span<const uint8_t> bytes, const std::string& file);

// The values of an array of float16, float32 or float64. Throws an InputError for other types.
std::vector<float> floats_of(const NpyArray& array, const std::string& file);
// The texts of a one-dimensional array of str or bytes. Throws an InputError for other arrays.
std::vector<std::string> texts_of(const NpyArray& array, const std::string& file);

// The bytes of an array of float32, `values.size()` = `rows` * `columns`.
std::string npy_text(std::span<const float> values, int64_t rows, int64_t columns);
// The bytes of a one-dimensional array of str.
std::string npy_text(const std::vector<std::string>& texts);

}  // namespace tributary
