#include "tributary/data/listing.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/data/archive/shard_paths.h"
#include "tributary/data/digits/packed_file.h"
#include "tributary/data/image/decode.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// The entries of a folder without hidden ones, sorted by name.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) entries.push_back(it->path());
  }
  if (error) input_error("{} cannot be read ({}); check its permissions", folder.string(), error.message());
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.filename().string() < b.filename().string(); });
  return entries;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Adds the pictures in `folder` and its subfolders. Follows links to folders, but visits each folder once: a few links
// can make a tree of millions of paths.
void add_pictures(const fs::path& folder, int64_t label, std::set<std::string>& visited, Listing& listing) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || !visited.insert(real.string()).second) return;
  for (const fs::path& entry : sorted_entries(folder)) {
    if (is_folder(entry)) {
      add_pictures(entry, label, visited, listing);
    } else if (looks_like_picture_name(entry.string()) && is_regular_file_at(entry)) {
      listing.pictures.push_back({entry.string(), entry.string(), label});
    } else if (auto skipped = skipped_file(entry.string())) {
      listing.skipped.push_back(std::move(*skipped));
    }
  }
}

// The first few names, for error messages.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(kShown, names.size());
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

// Throws an InputError if the folder holds IDX, .mat or USPS files: each of them is a data set of its own.
void refuse_packed_files(const std::string& folder, const char* problem) {
  std::vector<std::string> names;
  for (const fs::path& entry : sorted_entries(folder)) {
    const std::string name = entry.filename().string();
    if (name.find("labels") == std::string::npos && is_regular_file_at(entry) && is_packed_file(entry.string()))
      names.push_back(name);
  }
  if (names.empty()) return;
  const auto training = std::find_if(names.begin(), names.end(),
                                     [](const std::string& name) { return name.find("train") != std::string::npos; });
  input_error("{} {} but {}; name the file, as in {}", folder, problem, some_of(names),
              (fs::path(folder) / (training != names.end() ? *training : names.front())).string());
}

// "holds no pictures ...", with the first file that was skipped.
std::string no_pictures(const std::string& folder, const std::vector<SkippedPicture>& skipped) {
  std::string message = fmt::format("{} holds no pictures ({})", folder, kPictureFormats);
  if (!skipped.empty())
    message += fmt::format(" but {} other {}, first {} ({})", skipped.size(), skipped.size() == 1 ? "file" : "files",
                           skipped[0].path, skipped[0].reason);
  return message;
}

std::string count_of(size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// The names that `others` lacks.
std::vector<std::string> without(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  const std::vector<int64_t> indices = class_indices(names, others);
  std::vector<std::string> rest;
  for (size_t k = 0; k < names.size(); ++k)
    if (indices[k] < 0) rest.push_back(names[k]);
  return rest;
}

}  // namespace

PathKind kind_of_path(const std::string& path) {
  if (is_shards_path(path)) return PathKind::kShards;
  std::error_code error;
  const fs::file_status status = fs::status(file_of(path), error);
  if (!fs::exists(status)) missing_file_error("{} does not exist; check the path", path);
  if (fs::is_directory(status)) return PathKind::kFolder;
  if (!fs::is_regular_file(status)) input_error("{} is neither a file nor a folder; name one of them", path);
  if (looks_like_picture_name(path)) return PathKind::kPicture;
  if (is_packed_file(path)) return PathKind::kPacked;

  std::array<char, 4096> start = {};
  std::ifstream file = open_regular(path);
  if (!file) input_error("{} cannot be opened; check its permissions", path);
  file.read(start.data(), start.size());
  const std::span<const char> bytes(start.data(), static_cast<size_t>(file.gcount()));
  if (looks_like_picture({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) return PathKind::kPicture;
  if (const auto skipped = skipped_by_name(path); skipped && skipped->is_picture)
    input_error("{}: {}", path, skipped->reason);
  if (std::find(bytes.begin(), bytes.end(), '\0') != bytes.end())
    input_error("{} is not a picture, an IDX, .mat or tar file or a list of pictures; name one of these or a folder",
                path);
  return PathKind::kList;
}

Listing list_folder(const std::string& folder) {
  Listing listing;
  std::set<std::string> visited;
  add_pictures(folder, -1, visited, listing);
  if (listing.pictures.empty()) {
    refuse_packed_files(folder, "holds no pictures");
    missing_file_error("{}; name a folder that does", no_pictures(folder, listing.skipped));
  }
  return listing;
}

Listing list_class_folders(const std::string& folder, const std::vector<std::string>& expected) {
  Listing listing;
  std::vector<fs::path> folders;
  for (const fs::path& entry : sorted_entries(folder)) {
    if (is_folder(entry)) {
      folders.push_back(entry);
    } else if (looks_like_picture_name(entry.string())) {
      input_error("{} is outside of any class folder; move it to {}/CLASS/ or remove it", entry.string(), folder);
    } else if (auto skipped = skipped_file(entry.string())) {
      listing.skipped.push_back(std::move(*skipped));
    }
  }
  if (folders.empty()) {
    refuse_packed_files(folder, "has no class folders");
    input_error("{} has no class folders; put the pictures of each class in a folder", folder);
  }

  for (const fs::path& entry : folders) listing.classes.push_back(entry.filename().string());
  require_utf8(listing.classes, folder);
  std::vector<int64_t> labels(folders.size());
  std::iota(labels.begin(), labels.end(), 0);
  if (!expected.empty()) {
    labels = match_classes(folder, "class folder", "class folders", listing.classes, expected);
    listing.classes = expected;
  }
  std::set<std::string> visited = {fs::weakly_canonical(folder).string()};  // as without labels
  for (size_t k = 0; k < folders.size(); ++k) {
    const fs::path& entry = folders[k];
    const size_t before = listing.pictures.size();
    const size_t skipped = listing.skipped.size();
    add_pictures(entry, labels[k], visited, listing);
    if (expected.empty() && listing.pictures.size() == before) {
      refuse_packed_files(entry.string(), "holds no pictures");
      const auto first = listing.skipped.begin() + static_cast<std::ptrdiff_t>(skipped);
      input_error("class folder {}; add some or remove it",
                  no_pictures(entry.string(), {first, listing.skipped.end()}));
    }
  }
  if (listing.pictures.empty()) missing_file_error("{}; name a folder that does", no_pictures(folder, listing.skipped));
  return listing;
}

std::vector<int64_t> match_classes(const std::string& path, const char* one, const char* many,
                                   const std::vector<std::string>& found, const std::vector<std::string>& expected) {
  const std::vector<std::string> missing = without(expected, found);
  const std::vector<std::string> unknown = without(found, expected);
  if (missing.empty() && unknown.empty()) return class_indices(found, expected);
  if (are_numbered(expected) && unknown.size() == found.size())
    input_error(
        "{} has the {} {}, but the model's classes are only numbered; name them with --classes when its "
        "weights are imported",
        path, many, some_of(found));
  std::string message = fmt::format("{} has {} but the model knows {}", path, count_of(found.size(), one, many),
                                    count_of(expected.size(), "class", "classes"));
  if (!missing.empty()) message += "; missing: " + some_of(missing);
  if (!unknown.empty())
    message += fmt::format("; unknown to the model: {}; rename or remove {}", some_of(unknown),
                           unknown.size() == 1 ? "it" : "them");
  else
    message += fmt::format("; add an empty {} for each", one);
  throw InputError(message);
}

std::vector<std::string> numbered_classes(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace tributary
