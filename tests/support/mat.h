// Builds MATLAB 5 files for tests, valid and invalid.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tributary::test {

using MatBytes = std::vector<uint8_t>;

// MATLAB's codes of classes and storage types.
constexpr uint32_t kMatCell = 1, kMatChar = 4, kMatDouble = 6, kMatUint8Class = 9;
constexpr uint32_t kMatInt8 = 1, kMatUint8 = 2, kMatInt32 = 5, kMatUint32 = 6, kMatFloat64 = 9;

inline MatBytes operator+(MatBytes bytes, const MatBytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

template <typename Number>
MatBytes mat_numbers(const std::vector<Number>& values) {
  MatBytes bytes(values.size() * sizeof(Number));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline MatBytes mat_tag(uint32_t type, size_t bytes) {
  return mat_numbers<uint32_t>({type, static_cast<uint32_t>(bytes)});
}

// An element with tag and padding.
inline MatBytes mat_element(uint32_t type, const MatBytes& content) {
  MatBytes bytes = mat_tag(type, content.size()) + content;
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

// An array, or a cell array if `content` is a list of arrays. `flags`: 0x800 for complex numbers.
inline MatBytes mat_matrix(uint32_t kind, const std::string& name, const std::vector<int32_t>& sizes,
                           const MatBytes& content, uint32_t flags = 0) {
  return mat_element(14, mat_element(kMatUint32, mat_numbers<uint32_t>({kind | flags, 0})) +
                             mat_element(kMatInt32, mat_numbers(sizes)) +
                             mat_element(kMatInt8, MatBytes(name.begin(), name.end())) + content);
}

inline MatBytes mat_bytes_array(const std::string& name, const std::vector<int32_t>& sizes, const MatBytes& values) {
  return mat_matrix(kMatUint8Class, name, sizes, mat_element(kMatUint8, values));
}

inline MatBytes mat_double_array(const std::string& name, const std::vector<int32_t>& sizes,
                                 const std::vector<double>& values) {
  return mat_matrix(kMatDouble, name, sizes, mat_element(kMatFloat64, mat_numbers(values)));
}

inline MatBytes mat_deflated(const MatBytes& array) {
  uLongf size = compressBound(array.size());
  MatBytes packed(size);
  EXPECT_EQ(compress2(packed.data(), &size, array.data(), array.size(), 9), Z_OK);
  packed.resize(size);
  return mat_tag(15, size) + packed;
}

inline MatBytes mat_header() {
  const std::string text = "MATLAB 5.0 MAT-file, for a test";
  MatBytes header(text.begin(), text.end());
  header.resize(124, ' ');
  return header + MatBytes{0, 1, 'I', 'M'};
}

inline MatBytes mat_of(const std::vector<MatBytes>& arrays) {
  MatBytes bytes = mat_header();
  for (const MatBytes& array : arrays) bytes = bytes + array;
  return bytes;
}

// 0, 7, 14 .. as bytes.
inline MatBytes mat_sevens(size_t count) {
  MatBytes bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(7 * i));
  return bytes;
}

}  // namespace tributary::test
