#include "tributary/experiments/source_store.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/folder_lock.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/data/archive/shard_paths.h"
#include "tributary/data/digits/packed_file.h"
#include "tributary/data/list_file.h"
#include "tributary/data/listing.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

class Fnv1a {
 public:
  void add(const void* bytes, size_t count) {
    const auto* const begin = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i < count; ++i) value_ = (value_ ^ begin[i]) * 0x100000001b3;
  }
  // With its length, so that "ab", "c" differs from "a", "bc".
  void add_text(std::string_view text) {
    add_number(static_cast<int64_t>(text.size()));
    add(text.data(), text.size());
  }
  void add_number(int64_t number) {
    for (int byte = 0; byte < 8; ++byte, number >>= 8) {
      const auto low = static_cast<unsigned char>(number & 0xff);
      add(&low, 1);
    }
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

void add_size(Fnv1a& digest, const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) input_error("cannot read {} ({}); check its permissions", path, error.message());
  digest.add_number(static_cast<int64_t>(size));
}

void add_listing(Fnv1a& digest, const Listing& listing, const fs::path& folder) {
  for (const ListedPicture& picture : listing.pictures) {
    digest.add_text(folder.empty() ? picture.name : fs::path(picture.path).lexically_relative(folder).string());
    digest.add_number(picture.label);
    add_size(digest, picture.path);
  }
}

// Packed digits of one shape have one size, so their content counts.
void add_packed(Fnv1a& digest, const std::string& path) {
  const PackedImages images = read_packed_images(path);
  const std::vector<uint8_t> labels = read_packed_labels(path, images.count).values;
  for (const int64_t extent : {images.count, int64_t{images.height}, int64_t{images.width}, int64_t{images.channels}})
    digest.add_number(extent);
  digest.add(images.bytes.data(), images.bytes.size());
  digest.add(labels.data(), labels.size());
}

// The key of a row from the name of a run folder: ROW-TARGET-seedN.
std::string row_of(const std::string& run, const std::vector<std::string>& domains) {
  const size_t seed = run.rfind("-seed");
  if (seed == std::string::npos) return {};
  const std::string name = run.substr(0, seed);
  for (const std::string& domain : domains)
    if (name.ends_with("-" + domain)) return name.substr(0, name.size() - domain.size() - 1);
  return {};
}

// "street-seed0" and its digest. Earlier versions stored sources as street-seed0.safetensors, without a digest.
std::pair<std::string, std::string> source_and_digest(const fs::path& model) {
  if (model.filename() != "model.safetensors") return {model.stem().string(), "an earlier version"};
  const std::string name = model.parent_path().filename().string();
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {name, ""};
  return {name.substr(0, dash), name.substr(dash + 1)};
}

// The model files of a finished run's sources; empty for other folders.
std::vector<std::string> sources_of_run(const fs::path& run) {
  std::vector<std::string> files;
  if (!is_regular_file_at(run / "DONE") || !is_regular_file_at(run / "summary.json")) return files;
  std::ifstream file = open_regular((run / "summary.json").string());
  const nlohmann::json summary = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object() || !summary.contains("sources")) return files;
  for (const nlohmann::json& source : summary.at("sources"))
    if (source.contains("file") && source.at("file").is_string()) files.push_back(source.at("file"));
  return files;
}

}  // namespace

std::string digest_of(std::string_view bytes) {
  Fnv1a digest;
  digest.add(bytes.data(), bytes.size());
  return digest.text();
}

std::string file_digest(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  return digest_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string data_digest(const std::string& path) {
  Fnv1a digest;
  switch (kind_of_path(path)) {
    case PathKind::kPacked:
      add_packed(digest, path);
      break;
    case PathKind::kShards:
      for (const std::string& shard : shard_files(path)) {
        digest.add_text(fs::path(shard).filename().string());
        add_size(digest, shard);
      }
      break;
    case PathKind::kList:
      add_listing(digest, list_from_labelled_file(path, "", {}), {});
      break;
    case PathKind::kFolder:
      add_listing(digest, list_class_folders(path, {}), path);
      break;
    case PathKind::kPicture:
      input_error("{} is a single picture; name a folder of class folders", path);
  }
  return digest.text();
}

bool StoredSource::trained() const {
  return is_regular_file_at(model);
}

StoredSource stored_source(const std::string& store, const std::string& domain, int64_t seed, SourceRecipe recipe) {
  recipe["domain"] = domain;
  recipe["seed"] = std::to_string(seed);
  Fnv1a digest;
  for (const auto& [name, value] : recipe) {
    digest.add_text(name);
    digest.add_text(value);
  }
  const std::string folder = fmt::format("{}/{}-seed{}-{}", store, domain, seed, digest.text());
  return {domain, seed, folder, folder + "/model.safetensors", std::move(recipe)};
}

bool train_stored(const StoredSource& source, const std::function<void()>& train) {
  std::unique_ptr<FolderLock> lock;
  while (!lock) {
    try {
      lock = std::make_unique<FolderLock>(source.folder, std::chrono::seconds(1));
    } catch (const InputError&) {  // in use
      check_interrupt();
      if (!fs::is_directory(source.folder)) throw;
    }
  }
  if (source.trained()) return false;
  write_file_atomically(source.folder + "/source.json", json_text(nlohmann::json(source.recipe), 2) + "\n");
  train();
  return true;
}

std::vector<MixedSources> mixed_sources(const std::string& folder, const std::vector<std::string>& domains) {
  std::map<std::string, MixedSources> found;
  std::error_code error;
  for (fs::directory_iterator run(folder + "/runs", error), end; !error && run != end; run.increment(error)) {
    const std::string row = row_of(run->path().filename().string(), domains);
    if (row.empty()) continue;
    for (const std::string& file : sources_of_run(run->path())) {
      const auto [source, digest] = source_and_digest(file);
      found[source].source = source;
      found[source].of[digest].insert(row);
    }
  }
  std::vector<MixedSources> mixed;
  for (const auto& [name, source] : found)
    if (source.of.size() > 1) mixed.push_back(source);
  return mixed;
}

std::string mixed_sources_text(const std::string& folder, const std::vector<MixedSources>& mixed) {
  if (mixed.empty()) return {};
  std::vector<std::string> groups;
  for (const auto& [digest, rows] : mixed.front().of)
    groups.push_back(fmt::format("{} from {}", fmt::join(rows, ", "), digest));
  return fmt::format(
      "the runs in {} start from different sources and cannot be compared; of {}: {}; give each its own --out", folder,
      mixed.front().source, fmt::join(groups, "; "));
}

}  // namespace tributary
