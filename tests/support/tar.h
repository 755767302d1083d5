// Builds tar archives for tests, valid and invalid.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tributary/data/archive/tar_header.h"

namespace tributary::test {

inline std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
  return bytes;
}

// Updates the checksum of a modified header.
inline std::string with_checksum(std::string header) {
  header.replace(148, 8, 8, ' ');
  int sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  return header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
}

// A header with one field overwritten and a valid checksum.
inline std::string changed_header(const std::string& name, int64_t size, size_t offset, std::string_view field) {
  return with_checksum(tar_header(name, size, TarWritten::kRegular).replace(offset, field.size(), field));
}

// One member of any type.
inline std::string tar_member(const std::string& name, const std::string& content, char type = '0') {
  return changed_header(name, static_cast<int64_t>(content.size()), 156, std::string_view(&type, 1)) + padded(content);
}

inline std::string tar_end() {
  return std::string(2 * kTarBlock, '\0');
}

// An archive of regular files.
inline std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string bytes;
  for (const auto& [name, content] : files) bytes += tar_member(name, content);
  return bytes + tar_end();
}

inline std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace tributary::test
