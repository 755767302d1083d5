#include "tributary/data/picture_source.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/digits/packed_file.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/list_file.h"
#include "tributary/data/listing.h"

namespace tributary {
namespace {

// Larger than the file of any picture within the pixel limit.
constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

std::vector<uint8_t> read_whole_file(const std::string& path) {
  std::error_code error;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  std::ifstream file = open_regular(path);
  if (error || !file) throw PictureError("cannot be opened");
  if (size > kMaxFileBytes) throw PictureError("file of more than 1 GiB");
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != size) throw PictureError("cannot be read");
  return bytes;
}

PictureSource files_of(Listing listing) {
  PictureSource source;
  const auto paths = std::make_shared<std::vector<std::string>>();
  for (ListedPicture& picture : listing.pictures) {
    source.names.push_back(std::move(picture.name));
    source.labels.push_back(picture.label);
    paths->push_back(std::move(picture.path));
  }
  source.classes = std::move(listing.classes);
  source.skipped = std::move(listing.skipped);
  source.path = [paths](int64_t index) { return (*paths)[static_cast<size_t>(index)]; };
  source.read = [paths](int64_t index) { return read_whole_file((*paths)[static_cast<size_t>(index)]); };
  source.decode = [](int64_t, std::span<const uint8_t> file, const DecodeLimits& limits, std::vector<uint8_t> memory) {
    return decode_picture(file, limits, std::move(memory));
  };
  return source;
}

PictureSource members_of(ShardIndex found) {
  PictureSource source;
  source.names = std::move(found.names);
  source.labels = std::move(found.labels);
  source.classes = std::move(found.classes);
  source.skipped = std::move(found.skipped);
  const auto index = std::make_shared<const ShardIndex>(std::move(found));
  source.read = [index](int64_t i) { return index->read(i); };
  source.decode = [index](int64_t i, std::span<const uint8_t> file, const DecodeLimits& limits,
                          std::vector<uint8_t> memory) { return index->decode(i, file, limits, std::move(memory)); };
  return source;
}

Picture packed_picture(const PackedImages& images, int64_t index, std::vector<uint8_t> memory) {
  const auto pixels = static_cast<size_t>(images.height) * static_cast<size_t>(images.width);
  Picture picture{images.height, images.width, std::move(memory)};
  picture.rgb.resize(3 * pixels);
  const uint8_t* bytes = images.bytes.data() + static_cast<size_t>(index * images.channels) * pixels;
  if (images.channels == 3) {
    std::copy_n(bytes, 3 * pixels, picture.rgb.data());
  } else {
    for (size_t i = 0; i < pixels; ++i) std::fill_n(picture.rgb.data() + 3 * i, 3, bytes[i]);
  }
  return picture;
}

PictureSource packed_source(const std::string& path) {
  const auto images = std::make_shared<const PackedImages>(read_packed_images(path));
  if (images->count == 0) input_error("{} holds no pictures; name a file that does", path);
  require_packed_size(path, images->count, /*height=*/1, /*width=*/1, /*channels=*/1);  // for the names
  PictureSource source;
  for (int64_t i = 0; i < images->count; ++i) source.names.push_back(fmt::format("{}[{}]", path, i));
  source.content = crc32_z(0, images->bytes.data(), images->bytes.size());
  source.decode = [images](int64_t index, std::span<const uint8_t>, const DecodeLimits&, std::vector<uint8_t> memory) {
    return packed_picture(*images, index, std::move(memory));
  };
  return source;
}

void add_packed_labels(PictureSource& source, const std::string& images_path,
                       const std::vector<std::string>& expected_classes) {
  const auto [path, values] = read_packed_labels(images_path, source.size());
  const int largest = *std::max_element(values.begin(), values.end());
  if (!expected_classes.empty() && static_cast<size_t>(largest) >= expected_classes.size())
    input_error("{} has label {} but the model knows {} classes, 0 .. {}; name the labels of that model's task", path,
                largest, expected_classes.size(), expected_classes.size() - 1);
  source.labels.assign(values.begin(), values.end());
  source.classes = expected_classes.empty() ? numbered_classes(largest + 1) : expected_classes;
}

}  // namespace

PictureSource open_pictures(const std::string& path, const std::string& root, int threads) {
  switch (kind_of_path(path)) {
    case PathKind::kFolder:
      return files_of(list_folder(path));
    case PathKind::kList:
      return files_of(list_from_file(path, root));
    case PathKind::kPicture:
      return files_of({{{path, path, -1}}, {}, {}});
    case PathKind::kPacked:
      return packed_source(path);
    case PathKind::kShards:
      return members_of(index_shards(path, threads));
  }
  TRIBUTARY_CHECK(false, "kind of {}", path);
}

PictureSource open_labelled(const std::string& path, const std::string& root,
                            const std::vector<std::string>& expected_classes, int threads) {
  switch (kind_of_path(path)) {
    case PathKind::kFolder:
      return files_of(list_class_folders(path, expected_classes));
    case PathKind::kList:
      return files_of(list_from_labelled_file(path, root, expected_classes));
    case PathKind::kPicture:
      input_error("{} is a single picture, which has no label; name a folder of class folders or a list", path);
    case PathKind::kPacked: {
      PictureSource source = packed_source(path);
      add_packed_labels(source, path, expected_classes);
      return source;
    }
    case PathKind::kShards:
      return members_of(index_labelled_shards(path, expected_classes, threads));
  }
  TRIBUTARY_CHECK(false, "kind of {}", path);
}

}  // namespace tributary
