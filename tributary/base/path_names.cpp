#include "tributary/base/path_names.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace tributary {
namespace {

namespace fs = std::filesystem;

const std::set<std::string>& folder_words() {
  static const std::set<std::string> words = {
      "all",      "data",      "dataset",    "datasets", "dev",     "eval",      "image",   "images",   "img",
      "imgs",     "jpeg",      "jpegimages", "jpg",      "labeled", "labelled",  "pics",    "pictures", "png",
      "raw",      "samples",   "shards",     "source",   "target",  "test",      "testing", "train",    "training",
      "trainval", "unlabeled", "unlabelled", "val",      "valid",   "validation"};
  return words;
}

const std::set<std::string>& model_words() {
  static const std::set<std::string> words = {"best",  "best_model", "checkpoint", "ckpt",       "final",
                                              "last",  "latest",     "model",      "model_best", "pytorch_model",
                                              "state", "state_dict", "weights"};
  return words;
}

bool contains(const std::set<std::string>& words, std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return words.count(name) > 0;
}

}  // namespace

std::string telling_folder(const std::string& path) {
  fs::path given = fs::path(path).lexically_normal();
  if (given.empty() || given == "." || given.begin()->string() == "..")
    given = (fs::current_path() / given).lexically_normal();
  for (; !given.empty() && given != given.root_path(); given = given.parent_path()) {
    const std::string name = given.filename().string();
    if (!name.empty() && name != "." && !contains(folder_words(), name)) return name;
  }
  return {};
}

std::string telling_model_name(const std::string& path) {
  const fs::path given = fs::path(path).lexically_normal();
  fs::path stem = given.stem();
  if (given.extension() == ".tar") stem = stem.stem();  // model_best.pth.tar
  if (!contains(model_words(), stem.string())) return stem.string();
  const std::string folder = given.has_parent_path() ? telling_folder(given.parent_path().string()) : "";
  return folder.empty() ? stem.string() : folder;
}

std::vector<std::string> below_common_folder(const std::vector<std::string>& paths) {
  size_t common = paths.front().rfind('/') + 1;  // 0 without a folder
  for (const std::string& path : paths) {
    const auto [end, other] = std::mismatch(path.begin(), path.end(), paths.front().begin(), paths.front().end());
    common = std::min(common, static_cast<size_t>(end - path.begin()));
    if (common > 0) common = path.rfind('/', common - 1) + 1;
  }
  std::vector<std::string> rest;
  for (const std::string& path : paths) rest.push_back(path.substr(common));
  return rest;
}

std::vector<std::string> file_names(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) files.push_back(std::filesystem::path(path).filename().string());
  return files;
}

}  // namespace tributary
