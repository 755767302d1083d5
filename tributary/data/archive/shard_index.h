// Tar shards in the layout of WebDataset: which pictures they hold, where, and with which label.
//
// Files of an archive whose paths agree up to the first dot of the last part are one sample: 000017.jpg and 000017.cls,
// wherever they lie in it. The picture is .jpg, .jpeg, .png, .webp or, with raw pixels, .ppm; .cls is the number of its
// class as text; what else a sample has is passed over. Every shard may begin with a file __classes__, the names of the
// classes, one a line: WebDataset passes over names of that form. Pictures come in the order of the shards and in these
// as they lie there.
//
// Of every picture only its place is kept, 24 bytes, and its name; shards are opened once and read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/archive/tar_file.h"
#include "tributary/data/image/picture.h"

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
  std::vector<std::string> names;    // SHARD/FILE, one a picture
  std::vector<int64_t> labels;       // one a picture where they were asked for
  std::vector<std::string> classes;  // as are these

  // The file of a picture as it lies in its shard. PictureError if it is too large.
  std::vector<uint8_t> read(int64_t index) const;
  // What it shows, by the decoder that its name asks for.
  Picture decode(int64_t index, std::span<const uint8_t> file, const DecodeLimits& limits,
                 std::vector<uint8_t> memory) const;
};

// The pictures of a path of shards; labels are not looked at. InputError if an archive is damaged, two pictures are one
// sample, or there is none.
ShardIndex index_shards(const std::string& path, int threads);

// As above, with a label for every picture. Shards that name their classes must name the same ones, and those of
// `expected`, unless that is empty, in whatever order: labels are then indices into `expected`. Without names the
// classes are `expected`, or "0" .. the largest.
ShardIndex index_labelled_shards(const std::string& path, const std::vector<std::string>& expected, int threads);

}  // namespace tributary
