// Pictures that were found but not opened yet, whatever they lie in: files, shards, or one file of many.
//
// Loading decodes them, packing writes them to shards; both ask for a picture by its number, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tributary/data/image/picture.h"

namespace tributary {

struct PictureSource {
  std::vector<std::string> names;    // one a picture: its path as given, or "file.idx[17]"
  std::vector<int64_t> labels;       // one a picture where they were asked for
  std::vector<std::string> classes;  // as are these

  // Where the file of a picture lies; null where its name says so.
  std::function<std::string(int64_t index)> path;
  // The file of a picture as it is; null where pictures are no files of their own. PictureError if it cannot be read.
  std::function<std::vector<uint8_t>(int64_t index)> read;
  // What that file (or nothing, without `read`) shows. PictureError if it is no picture; `memory` becomes the
  // picture's.
  std::function<Picture(int64_t index, std::span<const uint8_t> file, const DecodeLimits& limits,
                        std::vector<uint8_t> memory)>
      decode;

  int64_t size() const { return static_cast<int64_t>(names.size()); }
};

// What load_images (load.h) reads. `root` is for list files, `threads` for finding what is in shards.
PictureSource open_pictures(const std::string& path, const std::string& root, int threads = 0);

// What load_labelled reads, with the same meaning of `expected_classes`.
PictureSource open_labelled(const std::string& path, const std::string& root,
                            const std::vector<std::string>& expected_classes, int threads = 0);

}  // namespace tributary
