#include "tributary/data/digits/idx.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/memory.h"
#include "tributary/data/archive/gzip_file.h"

namespace tributary {
namespace {

constexpr uint8_t kUnsignedByte = 8;
constexpr int64_t kMaxSide = 65535;             // larger sides are an error
constexpr int64_t kFirstGzipChunk = 1ll << 20;  // of gzipped files, whose decompressed size is unknown

struct Header {
  std::vector<int64_t> sizes;
  int64_t body_bytes = 0;

  int64_t header_bytes() const { return 4 + 4 * static_cast<int64_t>(sizes.size()); }
};

std::string shape_text(const std::vector<int64_t>& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

Header read_header(MaybeGzipFile& file, const std::string& path) {
  std::array<uint8_t, 4> magic = {};
  if (file.read(magic.data(), magic.size()) < magic.size())
    input_error("{} is too short for an IDX file; check that it is the right file", path);
  if (magic[0] != 0 || magic[1] != 0)
    input_error("{} is not an IDX file (it starts with {:02x} {:02x}, not 00 00); check that it is the right file",
                path, magic[0], magic[1]);
  if (magic[2] != kUnsignedByte)
    input_error("{} has IDX values of type {:#04x}; convert it to unsigned bytes (0x08)", path, magic[2]);
  if (magic[3] < 1 || magic[3] > 4)
    input_error("{} has {} dimensions; IDX images have 3 or 4 and labels 1", path, magic[3]);

  Header header;
  header.body_bytes = 1;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<uint8_t, 4> bytes = {};
    if (file.read(bytes.data(), bytes.size()) < bytes.size())
      input_error("{} ends within its header; download or copy the file again", path);
    const int64_t size = int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    header.sizes.push_back(size);
    if (size == 0) input_error("{} is empty (size 0 in dimension {}); name a file with data", path, i + 1);
    if (header.body_bytes > std::numeric_limits<int64_t>::max() / 2 / size)
      input_error("{} has the impossible size {}; download or copy the file again", path, shape_text(header.sizes));
    header.body_bytes *= size;
  }
  return header;
}

[[noreturn]] void wrong_length(const std::string& path, const Header& header, const std::string& found) {
  input_error("{} should hold {} bytes for its size {} but holds {}; download or copy the file again", path,
              header.body_bytes, shape_text(header.sizes), found);
}

// The length of a gzipped file's data is unknown until it was read.
void check_length(const MaybeGzipFile& file, const std::string& path, const Header& header) {
  const int64_t found = file.file_bytes() - header.header_bytes();
  if (!file.gzipped() && found != header.body_bytes) wrong_length(path, header, std::to_string(found));
}

// Reads the data after the header: exactly the declared size. For gzipped files, the buffer grows with the data.
std::vector<uint8_t> read_body(MaybeGzipFile& file, const std::string& path, const Header& header) {
  std::vector<uint8_t> body;
  check_length(file, path, header);
  int64_t filled = 0;
  while (filled < header.body_bytes) {
    const int64_t wanted =
        file.gzipped() ? std::min(header.body_bytes, std::max(kFirstGzipChunk, 2 * filled)) : header.body_bytes;
    if (file.gzipped() && wanted > kFirstGzipChunk && wanted > available_memory() / 2)
      input_error("{} holds more than {} bytes, more than half of the free memory; pack fewer pictures in a file", path,
                  filled);
    body.resize(static_cast<size_t>(wanted));
    const auto got = static_cast<int64_t>(file.read(body.data() + filled, static_cast<size_t>(wanted - filled)));
    filled += got;
    if (filled < wanted) wrong_length(path, header, std::to_string(filled));
  }
  uint8_t extra = 0;
  if (file.read(&extra, 1) != 0) wrong_length(path, header, "more");
  return body;
}

void write_idx(const std::string& path, const std::vector<int64_t>& sizes, std::span<const uint8_t> body) {
  std::vector<uint8_t> header = {0, 0, kUnsignedByte, static_cast<uint8_t>(sizes.size())};
  for (const int64_t size : sizes) {
    TRIBUTARY_CHECK(size >= 0 && size <= std::numeric_limits<uint32_t>::max(), "IDX size {} for {}", size, path);
    for (const int shift : {24, 16, 8, 0}) header.push_back(static_cast<uint8_t>(size >> shift & 0xff));
  }
  const std::array<std::span<const uint8_t>, 2> chunks = {header, body};
  write_file_atomically(path, chunks);
}

bool remove_suffix(std::string& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.resize(text.size() - suffix.size());
  return true;
}

}  // namespace

PackedImages read_idx_images(const std::string& path) {
  MaybeGzipFile file(path);
  const Header header = read_header(file, path);
  const std::vector<int64_t>& sizes = header.sizes;
  if (sizes.size() < 3)
    input_error("{} has the size {} and so no pictures; name the images file of the pair", path, shape_text(sizes));
  if (sizes.size() == 4 && sizes[3] != 3)
    input_error("{} has the size {}; pictures must be [n, height, width] or [n, height, width, 3]", path,
                shape_text(sizes));
  if (sizes[1] > kMaxSide || sizes[2] > kMaxSide)
    input_error("{} has the impossible size {}; download or copy the file again", path, shape_text(sizes));
  PackedImages images;
  images.count = sizes[0];
  images.height = static_cast<int>(sizes[1]);
  images.width = static_cast<int>(sizes[2]);
  images.channels = sizes.size() == 4 ? 3 : 1;
  check_length(file, path, header);
  require_packed_size(path, file.gzipped() ? 1 : images.count, images.height, images.width, images.channels);
  images.bytes = read_body(file, path, header);
  return images;
}

std::vector<uint8_t> read_idx_labels(const std::string& path) {
  MaybeGzipFile file(path);
  const Header header = read_header(file, path);
  if (header.sizes.size() != 1)
    input_error("{} has the size {} and so no labels; name the labels file of the pair", path,
                shape_text(header.sizes));
  return read_body(file, path, header);
}

void write_idx_images(const std::string& path, const ImageSet& images) {
  TRIBUTARY_CHECK(static_cast<int64_t>(images.pixels.size()) == images.size() * images.picture_bytes(),
                  "{} pictures in {} bytes", images.size(), images.pixels.size());
  write_idx(path, {images.size(), images.height, images.width, 3}, images.pixels);
}

void write_idx_labels(const std::string& path, const Labels& labels) {
  std::vector<uint8_t> bytes;
  bytes.reserve(labels.values.size());
  for (const int64_t value : labels.values) {
    if (value < 0 || value > 255)
      input_error("cannot write {}: label {} is outside of IDX's range 0 .. 255; use fewer classes", path, value);
    bytes.push_back(static_cast<uint8_t>(value));
  }
  write_idx(path, {static_cast<int64_t>(bytes.size())}, bytes);
}

bool is_idx_file(const std::string& path) {
  try {
    MaybeGzipFile file(path);
    std::array<uint8_t, 4> magic = {};
    return file.read(magic.data(), magic.size()) == magic.size() && magic[0] == 0 && magic[1] == 0 &&
           magic[2] == kUnsignedByte && magic[3] >= 1 && magic[3] <= 4;
  } catch (const InputError&) {
    return false;
  }
}

std::string labels_path_for(const std::string& images_path) {
  const std::filesystem::path path(images_path);
  std::string name = path.filename().string();
  const bool gzipped = remove_suffix(name, ".gz");
  const size_t at = name.rfind("images");
  if (at == std::string::npos)
    input_error("cannot derive the labels file of {}; name the pair NAME-images.idx and NAME-labels.idx", images_path);
  name.replace(at, 6, "labels");
  for (const char* rank : {"idx3", "idx4"}) {
    const size_t found = name.find(rank, at);
    if (found != std::string::npos) name.replace(found, 4, "idx1");
  }
  const std::string plain = (path.parent_path() / name).string();
  const std::array<std::string, 2> candidates = {gzipped ? plain + ".gz" : plain, gzipped ? plain : plain + ".gz"};
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error)) return candidate;
  }
  input_error("{} has no labels file; put it at {} or {}", images_path, candidates[0], candidates[1]);
}

}  // namespace tributary
