// Packs pictures into tar shards (archive/shard_index.h), so that a set of any size is a few large files.
//
// Opening many files is slow on network disks, and camera pictures have far more pixels than a model sees. Packing once
// makes later passes cheap. The bytes of the shards depend on pictures and options only, not on threads or time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/picture_source.h"
#include "tributary/data/skipped.h"

namespace tributary {

enum class PackFormat { kJpeg, kRaw };

struct PackOptions {
  int64_t size = 0;  // pixels of the shorter side; smaller pictures are not resized; 0: none is
  PackFormat format = PackFormat::kJpeg;
  int quality = 90;                                // of re-encoded JPEGs
  int64_t shard_bytes = int64_t{256} << 20;        // approximate size of a shard
  int threads = 0;                                 // 0: all
  double max_bad_share = 0.1;                      // a larger fraction of unreadable pictures is an error
  int64_t max_pixels = DecodeLimits{}.max_pixels;  // larger pictures are skipped
};

struct PackedShards {
  std::vector<std::string> files;
  int64_t pictures = 0;
  int64_t bytes = 0;  // of all files
  std::vector<SkippedPicture> skipped;
};

// Throws an InputError unless `folder` is new or empty, and writable.
void require_packable(const std::string& folder);

// Writes the pictures of `source`, opened from `path`, to FOLDER/NAME-000000.tar, …, where NAME is the folder's name.
// Labelled sources also get .cls files and class names. A picture's key is its index and its old name. With kJpeg,
// pictures that need no resizing are copied in their original format. All shards appear at the end; after an error,
// there are none.
PackedShards pack_pictures(const PictureSource& source, const std::string& path, const std::string& folder,
                           const PackOptions& options);

}  // namespace tributary
