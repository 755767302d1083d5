// Pictures into tar shards (shard_index.h), so that a set of any size is a few large files.
//
// Opening a file is slow on a network disk, and a model is shown far fewer pixels than a camera takes: packing once
// makes every later pass cheap. The shards depend on the pictures and the options alone, not on threads or time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/picture_source.h"
#include "tributary/data/skipped.h"

namespace tributary {

enum class PackFormat { kJpeg, kRaw };

struct PackOptions {
  int64_t size = 0;  // pixels of the shorter side; smaller pictures stay as they are; 0: all do
  PackFormat format = PackFormat::kJpeg;
  int quality = 90;                                // of JPEGs that are written anew
  int64_t shard_bytes = int64_t{256} << 20;        // a shard is not much larger
  int threads = 0;                                 // 0: all of the machine
  double max_bad_share = 0.1;                      // more unreadable pictures than this share is an error
  int64_t max_pixels = DecodeLimits{}.max_pixels;  // a larger picture is not decoded
};

struct PackedShards {
  std::vector<std::string> files;
  int64_t pictures = 0;
  int64_t bytes = 0;  // of all files
  std::vector<SkippedPicture> skipped;
};

// An InputError unless shards could be written to `folder`: it is new or empty, and a place where files can be made.
void require_packable(const std::string& folder);

// Writes the pictures of `path`, which were found before, to FOLDER/NAME-000000.tar, … where NAME is the folder's own;
// with .cls files and the names of the classes if the source has labels. A picture is called by its number and its old
// name. As JPEG, pictures that need no resizing are taken over as they are, whatever their format. All shards appear at
// the end, in a new folder all at once; before, or after an error, nothing does.
PackedShards pack_pictures(const PictureSource& source, const std::string& path, const std::string& folder,
                           const PackOptions& options);

}  // namespace tributary
