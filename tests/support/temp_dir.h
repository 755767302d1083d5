// A temporary folder for a test, removed at its end.
#pragma once

#include <ftw.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::test {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tributary-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create a folder like " + pattern);
    path_ = pattern;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  // Does not use std::filesystem::remove_all: Torch's wheels export their own copy, which crashes in our process.
  ~TempDir() {
    const auto remove_one = [](const char* path, const struct stat*, int, struct FTW*) { return ::remove(path); };
    nftw(path_.c_str(), remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }

  std::string path() const { return path_.string(); }

  // The path of `name` in the folder.
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  // Creates a subfolder with its parents.
  std::string folder(std::string_view name) const {
    std::filesystem::create_directories(path_ / name);
    return *this / name;
  }

  // Writes a file, creating parent folders, and returns its path.
  std::string write(std::string_view name, std::span<const uint8_t> bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }
  std::string write(std::string_view name, std::string_view text) const {
    return write(name, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<uint8_t> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The message of the `Error` that `call` throws. The test fails if it throws none.
template <typename Error, typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace tributary::test
