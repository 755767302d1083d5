#include "tributary/data/list_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

constexpr std::string_view kBlank = " \t\r\f\v";
constexpr std::string_view kLabelsEnding = "_labels.txt";
constexpr int64_t kMaxClasses = 1'000'000;  // a larger label is an error

// Parses digits; larger values become kMaxClasses.
std::optional<int64_t> label_of(std::string_view word) {
  if (word.empty()) return std::nullopt;
  int64_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min(kMaxClasses, 10 * value + (c - '0'));
  }
  return value;
}

struct ListFile {
  std::string path;
  std::string root;

  // The path of a picture of the list; nullopt if it does not exist.
  std::optional<std::string> find(std::string_view name) const {
    const fs::path relative(name);
    if (relative.is_absolute()) return existing(relative);
    if (!root.empty()) return existing(fs::path(root) / relative);
    const fs::path folder = fs::path(path).parent_path();
    if (auto found = existing(folder / relative)) return found;
    if (path.ends_with(kLabelsEnding)) {
      const std::string stem = fs::path(path).filename().string();
      if (auto found = existing(folder / stem.substr(0, stem.size() - kLabelsEnding.size()) / relative)) return found;
    }
    return existing(relative);
  }

  static std::optional<std::string> existing(const fs::path& candidate) {
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) return std::nullopt;
    return candidate.string();
  }

  std::string searched() const {
    if (!root.empty()) return "under " + root;
    return "in the folder of the list and in the working folder";
  }
};

ListedPicture parse_line(const ListFile& list, int64_t number, std::string_view line) {
  const size_t space = line.find_last_of(kBlank);
  const auto label = space == std::string_view::npos ? std::nullopt : label_of(line.substr(space + 1));
  // The whole line takes precedence: a picture may be called "scan 3".
  if (auto found = list.find(line)) return {std::string(line), *found, -1};
  std::string_view name = line;
  if (label) {
    name = trimmed(line.substr(0, space));
    if (auto found = list.find(name)) return {std::string(name), *found, *label};
  }
  input_error("{} line {} names {}, which does not exist (searched {}); correct the list or the root folder", list.path,
              number, printable(name, 200), fs::path(name).is_absolute() ? "at this path" : list.searched());
}

// Calls visit(line_number, picture) for every picture of the list.
template <typename Visit>
void for_each_picture(const ListFile& list, Visit visit) {
  std::ifstream file = open_regular(list.path);
  if (!file) input_error("{} cannot be opened; check its permissions", list.path);
  int64_t number = 0;
  bool any = false;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::string_view line = text;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('\0') != std::string_view::npos)
      input_error("{} line {} is not text; name a list with one picture per line", list.path, number);
    visit(number, parse_line(list, number, line));
    any = true;
  }
  if (!any) input_error("{} lists no pictures; write one path per line", list.path);
}

}  // namespace

Listing list_from_file(const std::string& file, const std::string& root) {
  Listing listing;
  for_each_picture({file, root}, [&listing](int64_t, ListedPicture picture) {
    picture.label = -1;
    listing.pictures.push_back(std::move(picture));
  });
  return listing;
}

Listing list_from_labelled_file(const std::string& file, const std::string& root,
                                const std::vector<std::string>& expected) {
  Listing listing;
  const auto limit = expected.empty() ? kMaxClasses : static_cast<int64_t>(expected.size());
  int64_t largest = 0;
  for_each_picture({file, root}, [&](int64_t number, ListedPicture picture) {
    if (picture.label < 0)
      input_error("{} line {} has no label after {}; add the class index", file, number, printable(picture.name, 200));
    if (picture.label >= limit)
      input_error("{} line {} has label {}{} but {} {} classes, 0 .. {}; correct the list", file, number, picture.label,
                  picture.label == kMaxClasses ? " or more" : "", expected.empty() ? "the limit is" : "the model knows",
                  limit, limit - 1);
    largest = std::max(largest, picture.label);
    listing.pictures.push_back(std::move(picture));
  });
  listing.classes = expected.empty() ? numbered_classes(largest + 1) : expected;
  return listing;
}

}  // namespace tributary
