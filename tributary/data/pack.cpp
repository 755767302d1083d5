#include "tributary/data/pack.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/base/threads.h"
#include "tributary/data/decode_ppm.h"
#include "tributary/data/encode_jpeg.h"
#include "tributary/data/listing.h"
#include "tributary/data/resize.h"
#include "tributary/data/shard_index.h"
#include "tributary/data/tar_header.h"
#include "tributary/data/tar_writer.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// A folder for shards; what had to be made for it goes again unless it is kept.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) {
    std::error_code error;
    for (fs::path missing = fs::absolute(path).lexically_normal(); !fs::exists(missing, error);
         missing = missing.parent_path())
      made_.push_back(missing.string());
    make_folder(path);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    for (const std::string& path : made_) ::rmdir(path.c_str());
  }
  void keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;  // the deepest first
};

std::string last_part(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() ? "shards" : name;
}

// The number of a picture and what it was called, without what would end the key of a sample or leave its folder.
std::string key_of(int64_t index, const std::string& name) {
  std::string stem = name.substr(name.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  const bool text = is_utf8(stem);
  for (char& c : stem) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x21 || byte == 0x7f || c == '.' || (byte >= 0x80 && !text)) c = '_';
  }
  return fmt::format("{:08}{}{}", index, stem.empty() ? "" : "-", stem);
}

// The shorter side brought to `size` pixels, the other one rounded as torchvision's Resize does it.
Picture shrunk(Picture picture, int64_t size) {
  const int shorter = std::min(picture.height, picture.width);
  if (size == 0 || shorter <= size) return picture;
  const auto scaled = [&](int side) {
    return static_cast<int>(static_cast<double>(size) * side / static_cast<double>(shorter));
  };
  return resize_bilinear(picture, scaled(picture.height), scaled(picture.width));
}

// A picture as it goes into a shard, or why it does not.
struct Prepared {
  std::string_view ending;
  std::vector<uint8_t> bytes;
  std::string reason;
};

std::string_view ending_of(const std::vector<uint8_t>& picture) {
  switch (picture.front()) {
    case 0xff:
      return "jpg";
    case 0x89:
      return "png";
    case 'R':
      return "webp";
    default:
      return "ppm";
  }
}

// Every picture is decoded, also one that is taken over as it is: a shard holds only what can be read.
Prepared prepare(const PictureSource& source, int64_t index, const PackOptions& options) {
  try {
    std::vector<uint8_t> file = source.read ? source.read(index) : std::vector<uint8_t>();
    Picture picture = source.decode(index, file, {options.max_pixels}, {});
    const bool resized = options.size > 0 && std::min(picture.height, picture.width) > options.size;
    if (options.format == PackFormat::kJpeg && !resized && !file.empty()) return {ending_of(file), std::move(file), ""};
    file = {};
    picture = shrunk(std::move(picture), options.size);
    if (options.format == PackFormat::kRaw) return {"ppm", encode_ppm(picture), ""};
    return {"jpg", encode_jpeg(picture, options.quality), ""};
  } catch (const PictureError& error) {
    return {"", {}, error.what()};
  }
}

// The shards as they grow, one after the other, each beside its place.
class ShardsWriter {
 public:
  ShardsWriter(const std::string& folder, const std::vector<std::string>& classes, int64_t shard_bytes)
      : stem_(folder + "/" + last_part(folder)), shard_bytes_(shard_bytes) {
    // Numbers are no names: a model that has names takes them as they come.
    if (classes == numbered_classes(static_cast<int64_t>(classes.size()))) return;
    for (const std::string& name : classes) {
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
      if (std::any_of(name.begin(), name.end(), is_control) || !is_utf8(name))
        input_error("the class {} has a name that is no plain text; rename it", printable(name));
      classes_ += name + "\n";
    }
  }

  // `label` of -1 is none.
  void add(const std::string& key, const Prepared& picture, int64_t label) {
    const auto needed = static_cast<int64_t>(picture.bytes.size()) + 4 * kTarBlock;
    if (shards_.empty() || shards_.back().size() + needed > shard_bytes_) begin();
    if (label >= 0) shards_.back().add(key + ".cls", std::to_string(label));
    shards_.back().add(fmt::format("{}.{}", key, picture.ending), picture.bytes);
  }

  void finish(PackedShards& result) {
    if (!shards_.empty()) shards_.back().finish();
    for (TarWriter& shard : shards_) {
      shard.place();
      result.bytes += shard.size();
    }
    result.files = std::move(files_);
  }

 private:
  void begin() {
    if (!shards_.empty()) shards_.back().finish();
    files_.push_back(fmt::format("{}-{:06}.tar", stem_, shards_.size()));
    shards_.emplace_back(files_.back());
    if (!classes_.empty()) shards_.back().add(kClassesMember, std::string_view(classes_));
  }

  std::string stem_, classes_;
  int64_t shard_bytes_;
  std::vector<TarWriter> shards_;
  std::vector<std::string> files_;
};

}  // namespace

void require_packable(const std::string& folder) {
  require_writable_target(folder);
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (fs::is_directory(folder, error)) remove_leftovers(folder);
  if (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))
    input_error("{} is already there and not an empty folder; give another place", folder);
}

PackedShards pack_pictures(const PictureSource& source, const std::string& path, const std::string& folder,
                           const PackOptions& options) {
  require_packable(folder);
  NewFolder made(folder);  // before the writer: goes after the writer's files
  ShardsWriter writer(folder, source.classes, options.shard_bytes);
  const int threads = options.threads > 0 ? options.threads : hardware_threads();
  // What is prepared at once bounds the memory; it is written in the order of the source.
  std::vector<Prepared> prepared(static_cast<size_t>(8 * threads));
  PackedShards result;
  for (int64_t begin = 0; begin < source.size(); begin += static_cast<int64_t>(prepared.size())) {
    const int64_t count = std::min(static_cast<int64_t>(prepared.size()), source.size() - begin);
    parallel_for(count, threads, [&](int64_t i) {
      check_interrupt();
      prepared[static_cast<size_t>(i)] = prepare(source, begin + i, options);
    });
    for (int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<size_t>(begin + i);
      Prepared& picture = prepared[static_cast<size_t>(i)];
      if (!picture.reason.empty()) {
        result.set_aside.push_back({source.path ? source.path(begin + i) : source.names[index], picture.reason});
        continue;
      }
      const bool labelled = !source.classes.empty();
      writer.add(key_of(begin + i, source.names[index]), picture, labelled ? source.labels[index] : -1);
      ++result.pictures;
      picture = {};
    }
  }
  check_bad_share(path, result.set_aside, source.names.size(), options.max_bad_share);
  check_interrupt();
  writer.finish(result);
  made.keep();
  return result;
}

}  // namespace tributary
