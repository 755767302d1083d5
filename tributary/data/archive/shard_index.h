// Indexes the pictures and labels of tar shards in the WebDataset layout.
//
// Files of an archive that share the path up to the first dot of the file name form a sample: 000017.jpg and
// 000017.cls, in any position. The picture has the ending of a format that can be read (image/decode.h) or .ppm
// (uncompressed); .cls contains the class index as text; other files are ignored. A shard may contain a file
// __classes__ with one class name per line, which WebDataset ignores. Pictures are in the order of the shards and of
// their files. The index keeps 24 bytes and a name per picture; shards are opened once and read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/archive/tar_file.h"
#include "tributary/data/image/picture.h"
#include "tributary/data/skipped.h"

namespace tributary {

constexpr const char* kClassesMember = "__classes__";

struct ShardPicture {
  int64_t offset = 0, size = 0;  // in its shard
  int32_t shard = 0;
  bool raw = false;  // PPM
};

struct ShardIndex {
  std::vector<TarFile> shards;
  std::vector<ShardPicture> pictures;
  std::vector<std::string> names;       // SHARD/FILE, per picture
  std::vector<int64_t> labels;          // per picture; empty if unlabelled
  std::vector<std::string> classes;     // empty if unlabelled
  std::vector<SkippedPicture> skipped;  // pictures of formats that cannot be read

  // The encoded file of a picture. Throws a PictureError if it is too large.
  std::vector<uint8_t> read(int64_t index) const;
  // Decodes `file`: .ppm by its name, other formats by content.
  Picture decode(int64_t index, std::span<const uint8_t> file, const DecodeLimits& limits,
                 std::vector<uint8_t> memory) const;
};

// Indexes the pictures of a path of shards; labels are ignored. Throws an InputError if an archive is damaged, a sample
// has two pictures, or there are no pictures.
ShardIndex index_shards(const std::string& path, int threads);

// The same with a label per picture. Class names of all shards must be equal. If `expected` is not empty, they must be
// the names in `expected`, in any order, and labels become indices into it. Without class names, the classes are
// `expected` or "0" .. the largest label.
ShardIndex index_labelled_shards(const std::string& path, const std::vector<std::string>& expected, int threads);

}  // namespace tributary
