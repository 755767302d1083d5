#include "tributary/io/npy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "tributary/base/error.h"
#include "tributary/base/little_endian.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kLongestHeader = 65536;
constexpr size_t kMostDimensions = 32;
constexpr char32_t kReplacement = 0xfffd;

[[noreturn]] void damaged(const std::string& file, const std::string& what) {
  input_error("{} is not a NumPy array: {}; save it with numpy.save", file, what);
}

uint64_t bytes_value(std::span<const uint8_t> bytes, size_t at, size_t length) {
  uint64_t value = 0;
  for (size_t i = length; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

// The text behind "'key':" in the dictionary of a header; empty if there is none.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + quoted.size());
  const size_t begin = rest.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

std::optional<std::vector<int64_t>> shape_from(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  const size_t end = text.find(')');
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  std::vector<int64_t> shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return shape;
    int64_t extent = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() == kMostDimensions) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.starts_with(','))
      text.remove_prefix(1);
    else if (!text.empty())
      return std::nullopt;
  }
}

// Bytes per element of the types that are read; 0 for others.
uint64_t item_bytes(std::string_view dtype) {
  if (dtype == "<f2") return 2;
  if (dtype == "<f4") return 4;
  if (dtype == "<f8") return 8;
  const bool wide = dtype.starts_with("<U");
  if (!wide && !dtype.starts_with("|S")) return 0;
  constexpr uint64_t kLongestText = 1 << 20;
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(dtype.data() + 2, dtype.data() + dtype.size(), length);
  if (error != std::errc() || end != dtype.data() + dtype.size() || length > kLongestText) return 0;
  return length * (wide ? 4 : 1);
}

float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                     : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                      : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return bits >> 15 != 0 ? -size : size;
}

void append_utf8(std::string& text, char32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = kReplacement;
  const auto byte = [&text](char32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 63));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 63));
    byte(0x80 | (code & 63));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 63));
    byte(0x80 | (code >> 6 & 63));
    byte(0x80 | (code & 63));
  }
}

// The code points of UTF-8 text.
std::u32string code_points(const std::string& text) {
  const std::string valid = utf8_text(text);
  std::u32string points;
  for (size_t i = 0; i < valid.size();) {
    const auto lead = static_cast<unsigned char>(valid[i]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    char32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(valid[i + k]) & 63U);
    points += code;
    i += length;
  }
  return points;
}

// Magic, version and header, padded so that the data begin at a multiple of 64.
std::string npy_header(const std::string& dtype, const std::string& shape) {
  constexpr size_t kAlignment = 64, kFixed = 10;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", dtype, shape);
  header += std::string((kAlignment - (kFixed + header.size() + 1) % kAlignment) % kAlignment, ' ') + '\n';
  return std::string(kMagic) + '\x01' + '\0' + little_endian(header.size(), 2) + header;
}

}  // namespace

NpyArray parse_npy(std::span<const uint8_t> bytes, const std::string& file) {
  constexpr size_t kVersionAt = 6, kLengthAt = 8;
  if (bytes.size() < kLengthAt + 4 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    damaged(file, "it does not begin with \\x93NUMPY");
  const int version = bytes[kVersionAt];
  if (version < 1 || version > 3) damaged(file, fmt::format("version {}", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = kLengthAt + length_bytes;
  const uint64_t length = bytes_value(bytes, kLengthAt, length_bytes);
  if (length > kLongestHeader || length > bytes.size() - begin)
    damaged(file, fmt::format("a header of {} bytes in a file of {}", length, bytes.size()));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + begin, length);

  NpyArray array;
  const std::string_view type = value_of(header, "descr"), order = value_of(header, "fortran_order");
  const size_t quote = type.starts_with('\'') ? type.find('\'', 1) : std::string_view::npos;
  if (quote == std::string_view::npos) damaged(file, "its header names no simple type");
  array.dtype = type.substr(1, quote - 1);
  const auto shape = shape_from(value_of(header, "shape"));
  if (!shape) damaged(file, "its header has no shape");
  array.shape = *shape;
  if (!order.starts_with("True") && !order.starts_with("False")) damaged(file, "its header names no order");
  if (order.starts_with("True") && array.shape.size() > 1)
    input_error("{} is in Fortran order; save numpy.ascontiguousarray(array)", file);
  const uint64_t item = item_bytes(array.dtype);
  if (item == 0)
    input_error("{} has the type {}; save scores as float32, and names as numpy.array(names, dtype=str)", file,
                printable(array.dtype, 40));
  array.data = bytes.subspan(begin + length);
  uint64_t expected = item;
  for (const int64_t extent : array.shape)
    if (__builtin_mul_overflow(expected, static_cast<uint64_t>(extent), &expected))
      damaged(file, "its shape is too large");
  if (expected != array.data.size())
    damaged(file, fmt::format("its shape needs {} bytes of data, and there are {}", expected, array.data.size()));
  array.count = array.data.size() / item;
  return array;
}

std::vector<float> floats_of(const NpyArray& array, const std::string& file) {
  static_assert(std::endian::native == std::endian::little);
  if (array.dtype[1] != 'f')
    input_error("{} has the type {}; save scores as float32", file, printable(array.dtype, 40));
  std::vector<float> values(array.count);
  const uint8_t* const from = array.data.data();
  for (size_t i = 0; i < array.count; ++i) {
    if (array.dtype == "<f4") {
      std::memcpy(&values[i], from + 4 * i, 4);
    } else if (array.dtype == "<f8") {
      double wide = 0;
      std::memcpy(&wide, from + 8 * i, 8);
      values[i] = static_cast<float>(wide);
    } else {
      values[i] = half_value(static_cast<uint16_t>(bytes_value(array.data, 2 * i, 2)));
    }
  }
  return values;
}

std::vector<std::string> texts_of(const NpyArray& array, const std::string& file) {
  const bool wide = array.dtype.starts_with("<U");
  if ((!wide && !array.dtype.starts_with("|S")) || array.shape.size() != 1)
    input_error("{} is not a list of names; save it as numpy.array(names, dtype=str)", file);
  const size_t item = item_bytes(array.dtype), unit = wide ? 4 : 1;
  std::vector<std::string> texts;
  for (size_t at = 0; at < array.data.size(); at += item) {
    std::string text;
    size_t end = at + item;
    while (end > at && bytes_value(array.data, end - unit, unit) == 0) end -= unit;
    for (size_t i = at; i < end; i += unit) {
      if (wide)
        append_utf8(text, static_cast<char32_t>(bytes_value(array.data, i, unit)));
      else
        text += static_cast<char>(array.data[i]);
    }
    texts.push_back(utf8_text(text));
  }
  return texts;
}

std::string npy_text(std::span<const float> values, int64_t rows, int64_t columns) {
  std::string text = npy_header("<f4", fmt::format("({}, {})", rows, columns));
  return text.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::string npy_text(const std::vector<std::string>& texts) {
  std::vector<std::u32string> all;
  size_t longest = 1;
  for (const std::string& text : texts) {
    all.push_back(code_points(text));
    longest = std::max(longest, all.back().size());
  }
  std::string bytes = npy_header(fmt::format("<U{}", longest), fmt::format("({},)", texts.size()));
  for (std::u32string& text : all) {
    text.resize(longest, U'\0');
    for (const char32_t code : text) bytes += little_endian(code, 4);
  }
  return bytes;
}

}  // namespace tributary
