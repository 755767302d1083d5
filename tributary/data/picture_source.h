// Random access to encoded pictures: in files, tar shards, or packed files such as IDX.
//
// Loading decodes the pictures, packing writes them to shards. Both access them by index, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"
#include "tributary/data/skipped.h"

namespace tributary {

struct PictureSource {
  std::vector<std::string> names;       // per picture: its path as given, or "file.idx[17]"
  std::vector<int64_t> labels;          // per picture; empty if unlabelled
  std::vector<std::string> classes;     // empty if unlabelled
  std::vector<SkippedPicture> skipped;  // files beside the pictures that are not read

  // The path of a picture's file; null if it equals the name.
  std::function<std::string(int64_t index)> path;
  // The encoded file of a picture; null for packed files. Throws a PictureError if it cannot be read.
  std::function<std::vector<uint8_t>(int64_t index)> read;
  // Decodes `file`, which is empty if `read` is null. Throws a PictureError if it is not a valid picture. The result
  // reuses `memory`.
  std::function<Picture(int64_t index, std::span<const uint8_t> file, const DecodeLimits& limits,
                        std::vector<uint8_t> memory)>
      decode;

  uint64_t content = 0;  // digest of the pixels of a packed file

  int64_t size() const { return static_cast<int64_t>(names.size()); }
};

// Opens the unlabelled pictures of a path (see load_images). `root` is for list files, `threads` for indexing shards.
PictureSource open_pictures(const std::string& path, const std::string& root, int threads = 0);

// Opens pictures with labels. See load_labelled for `expected_classes`.
PictureSource open_labelled(const std::string& path, const std::string& root,
                            const std::vector<std::string>& expected_classes, int threads = 0);

}  // namespace tributary
