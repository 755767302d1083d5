#include "tributary/data/archive/shard_paths.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/image/decode.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

constexpr std::string_view kEnding = ".tar";
constexpr int64_t kMaxShards = 100'000;

bool has_tar_bytes(const std::string& path) {
  constexpr std::string_view kMagic = "ustar";
  constexpr size_t kMagicAt = 257;
  std::array<char, kMagicAt + kMagic.size()> start = {};
  std::ifstream file = open_regular(path);
  return file.read(start.data(), start.size()) && std::string_view(start.data() + kMagicAt, kMagic.size()) == kMagic;
}

// The sorted archives of a folder; empty if it also has pictures or subfolders, or cannot be read.
std::vector<std::string> archives_in(const std::string& folder) {
  std::vector<std::string> archives;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code unknown;
    if (name.starts_with('.')) continue;
    if (it->is_directory(unknown) || looks_like_picture_name(name)) return {};
    if (name.ends_with(kEnding) && it->is_regular_file(unknown)) archives.push_back(it->path().string());
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

// "photos-", "000000", "000009", ".tar"
struct Pattern {
  std::string before, first, last, after;
};

std::optional<Pattern> pattern_of(const std::string& path) {
  if (!path.ends_with(kEnding)) return std::nullopt;
  const size_t open = path.find('{'), close = path.find('}', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  const std::string inside = path.substr(open + 1, close - open - 1);
  const size_t dots = inside.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const Pattern pattern{path.substr(0, open), inside.substr(0, dots), inside.substr(dots + 2), path.substr(close + 1)};
  const auto is_number = [](const std::string& text) {
    constexpr size_t kMaxDigits = 18;
    return !text.empty() && text.size() <= kMaxDigits && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_number(pattern.first) || !is_number(pattern.last)) return std::nullopt;
  return pattern;
}

// Expands the range like a shell: if a number has leading zeros, all are padded to the longer of the two.
std::vector<std::string> expanded(const Pattern& pattern, const std::string& path) {
  const int64_t first = std::stoll(pattern.first), last = std::stoll(pattern.last);
  if (last < first || last - first >= kMaxShards)
    input_error("{} is a range from {} to {}; use an ascending range of at most {} files", path, pattern.first,
                pattern.last, kMaxShards);
  const bool padded =
      (pattern.first.size() > 1 && pattern.first[0] == '0') || (pattern.last.size() > 1 && pattern.last[0] == '0');
  const size_t width = padded ? std::max(pattern.first.size(), pattern.last.size()) : 0;
  std::vector<std::string> files;
  for (int64_t number = first; number <= last; ++number) {
    files.push_back(fmt::format("{}{:0{}}{}", pattern.before, number, width, pattern.after));
    if (!is_regular_file_at(files.back()))
      input_error("{} does not exist but is in the range of {}; check the numbers", files.back(), path);
  }
  return files;
}

}  // namespace

bool is_shards_path(const std::string& path) {
  if (is_regular_file_at(path)) return path.ends_with(kEnding) || has_tar_bytes(path);
  std::error_code error;
  if (fs::is_directory(path, error)) return !archives_in(path).empty();
  return !fs::exists(path, error) && pattern_of(path).has_value();
}

std::vector<std::string> shard_files(const std::string& path) {
  if (is_regular_file_at(path)) return {path};
  if (const auto pattern = pattern_of(path)) return expanded(*pattern, path);
  return archives_in(path);
}

}  // namespace tributary
