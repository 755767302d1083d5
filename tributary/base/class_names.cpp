#include "tributary/base/class_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string_view>

namespace tributary {
namespace {

std::string lower(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

// The names by index; empty if one occurs twice.
std::map<std::string, int64_t> index_of(const std::vector<std::string>& names, bool with_case) {
  std::map<std::string, int64_t> indices;
  for (size_t k = 0; k < names.size(); ++k)
    if (!indices.emplace(with_case ? names[k] : lower(names[k]), static_cast<int64_t>(k)).second) return {};
  return indices;
}

}  // namespace

std::vector<int64_t> class_indices(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  const bool with_case = index_of(names, false).empty() || index_of(known, false).empty();
  const std::map<std::string, int64_t> indices = index_of(known, with_case);
  std::vector<int64_t> result;
  for (const std::string& name : names) {
    const auto found = indices.find(with_case ? name : lower(name));
    result.push_back(found == indices.end() ? -1 : found->second);
  }
  return result;
}

std::vector<std::string> class_lines(const std::string& text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf", kBlank = " \t\r";
  std::istringstream stream(text.starts_with(kMark) ? text.substr(kMark.size()) : text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    const size_t first = line.find_first_not_of(kBlank);
    lines.push_back(first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(kBlank) - first + 1));
  }
  return lines;
}

bool are_numbered(const std::vector<std::string>& names) {
  for (size_t k = 0; k < names.size(); ++k)
    if (names[k] != std::to_string(k)) return false;
  return true;
}

}  // namespace tributary
