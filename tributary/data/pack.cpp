#include "tributary/data/pack.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/staged_folder.h"
#include "tributary/base/text.h"
#include "tributary/base/threads.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/archive/tar_header.h"
#include "tributary/data/archive/tar_writer.h"
#include "tributary/data/image/decode_ppm.h"
#include "tributary/data/image/encode_jpeg.h"
#include "tributary/data/image/resize.h"
#include "tributary/data/listing.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

std::string last_part(const std::string& folder) {
  const std::string name = fs::path(absolute_path(folder)).filename().string();
  return name.empty() ? "shards" : name;
}

// The key of a sample: index and old name, without dots, spaces and control characters.
std::string key_of(int64_t index, const std::string& name) {
  std::string stem = name.substr(name.rfind('/') + 1);
  stem.resize(std::min(stem.rfind('.'), stem.size()));
  const bool text = is_utf8(stem);
  for (char& c : stem) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x21 || byte == 0x7f || c == '.' || (byte >= 0x80 && !text)) c = '_';
  }
  return fmt::format("{:08}{}{}", index, stem.empty() ? "" : "-", stem);
}

// Resizes the shorter side to `size` pixels; the longer one is rounded as in torchvision's Resize.
Picture shrunk(Picture picture, int64_t size) {
  const int shorter = std::min(picture.height, picture.width);
  if (size == 0 || shorter <= size) return picture;
  const auto scaled = [&](int side) {
    return static_cast<int>(static_cast<double>(size) * side / static_cast<double>(shorter));
  };
  return resize_bilinear(picture, scaled(picture.height), scaled(picture.width));
}

// A picture ready to be written, or the reason why it is skipped.
struct Prepared {
  std::string_view extension;
  std::vector<uint8_t> bytes;
  std::string reason;
};

std::string_view extension_of(const std::vector<uint8_t>& picture) {
  switch (picture.front()) {
    case 0xff:
      return "jpg";
    case 0x89:
      return "png";
    case 'R':
      return "webp";
    case 'B':
      return "bmp";
    case 'G':
      return "gif";
    case 'I':
    case 'M':
      return "tif";
    default:
      return "ppm";
  }
}

// Decodes every picture, even one that is copied unchanged, so that shards contain readable pictures only.
Prepared prepare(const PictureSource& source, int64_t index, const PackOptions& options) {
  try {
    std::vector<uint8_t> file = source.read ? source.read(index) : std::vector<uint8_t>();
    Picture picture = source.decode(index, file, {options.max_pixels}, {});
    const bool resized = options.size > 0 && std::min(picture.height, picture.width) > options.size;
    if (options.format == PackFormat::kJpeg && !resized && !file.empty())
      return {extension_of(file), std::move(file), ""};
    file = {};
    picture = shrunk(std::move(picture), options.size);
    if (options.format == PackFormat::kRaw) return {"ppm", encode_ppm(picture), ""};
    return {"jpg", encode_jpeg(picture, options.quality), ""};
  } catch (const PictureError& error) {
    return {"", {}, error.what()};
  }
}

// Writes shards one after the other.
class ShardWriter {
 public:
  ShardWriter(std::string folder, std::string stem, const std::vector<std::string>& classes, int64_t shard_bytes)
      : folder_(std::move(folder)), stem_(std::move(stem)), shard_bytes_(shard_bytes) {
    // Numbered classes are not written as names, so that they fit a model with other names.
    if (classes == numbered_classes(static_cast<int64_t>(classes.size()))) return;
    for (const std::string& name : classes) {
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
      if (std::any_of(name.begin(), name.end(), is_control) || !is_utf8(name))
        input_error("the class name {} contains control characters or invalid UTF-8; rename it", printable(name));
      classes_ += name + "\n";
    }
  }

  // A `label` of -1 means unlabelled.
  void add(const std::string& key, const Prepared& picture, int64_t label) {
    const auto needed = static_cast<int64_t>(picture.bytes.size()) + 4 * kTarBlock;
    if (!shard_ || shard_->size() + needed > shard_bytes_) begin();
    if (label >= 0) shard_->add(key + ".cls", std::to_string(label));
    shard_->add(fmt::format("{}.{}", key, picture.extension), picture.bytes);
  }

  void finish() {
    if (!shard_) return;
    shard_->finish();
    shard_->commit();
    bytes_ += shard_->size();
    shard_.reset();
  }

  const std::vector<std::string>& names() const { return names_; }
  int64_t bytes() const { return bytes_; }

 private:
  void begin() {
    finish();
    names_.push_back(fmt::format("{}-{:06}.tar", stem_, names_.size()));
    shard_.emplace(folder_ + "/" + names_.back());
    if (!classes_.empty()) shard_->add(kClassesMember, std::string_view(classes_));
  }

  std::string folder_, stem_, classes_;
  int64_t shard_bytes_, bytes_ = 0;
  std::optional<TarWriter> shard_;
  std::vector<std::string> names_;
};

}  // namespace

void require_packable(const std::string& folder) {
  require_writable_target(folder);
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (fs::is_directory(folder, error)) remove_leftovers(folder);
  if (!is_empty_folder(folder))
    input_error("{} already exists and is not an empty folder; choose another path", folder);
}

PackedShards pack_pictures(const PictureSource& source, const std::string& path, const std::string& folder,
                           const PackOptions& options) {
  require_packable(folder);
  StagedFolder staging(folder);
  ShardWriter writer(staging.path(), last_part(folder), source.classes, options.shard_bytes);
  const int threads = options.threads > 0 ? options.threads : hardware_threads();
  // Prepares a bounded number of pictures at a time, to limit memory, and writes them in order.
  std::vector<Prepared> prepared(static_cast<size_t>(8 * threads));
  PackedShards result;
  result.skipped = source.skipped;
  const size_t pictures = source.names.size() + unreadable_pictures(source.skipped);
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
        result.skipped.push_back({source.path ? source.path(begin + i) : source.names[index], picture.reason});
        continue;
      }
      const bool labelled = !source.classes.empty();
      writer.add(key_of(begin + i, source.names[index]), picture, labelled ? source.labels[index] : -1);
      ++result.pictures;
      picture = {};
    }
  }
  check_skipped_share(path, result.skipped, pictures, options.max_bad_share);
  writer.finish();
  check_interrupt();
  staging.commit(writer.names());
  for (const std::string& name : writer.names()) result.files.push_back((fs::path(folder) / name).string());
  result.bytes = writer.bytes();
  return result;
}

}  // namespace tributary
