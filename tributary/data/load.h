// Loads the pictures of a path: decodes and preprocesses them on all threads.
//
// Adaptation passes over the target set many times, so pictures are decoded once and kept in memory. A set that does
// not fit is checked once and then decoded on demand. Unreadable pictures are skipped and reported; too many of them
// are an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"
#include "tributary/data/image/picture.h"
#include "tributary/data/image_set.h"
#include "tributary/data/skipped.h"

namespace tributary {

struct LoadOptions {
  Preprocessing preprocessing;                     // pictures in memory have `resize` x `resize` pixels
  int threads = 0;                                 // for decoding; 0: all
  std::string root;                                // of relative paths in list files; empty: the folder of the list
  double max_bad_share = 0.1;                      // a larger fraction of unreadable pictures is an error
  int64_t max_pixels = DecodeLimits{}.max_pixels;  // larger pictures are skipped
  int64_t memory = -1;                             // bytes for decoded pictures; -1: half of the available memory
  int64_t feature_memory = -1;                     // bytes for features; -1: half of the device's available memory
};

// Loads a folder (recursively, ignoring class folders), a list file, a picture, an IDX images file, a .mat file, USPS
// text or tar shards (archive/shard_index.h). Skipped pictures are added to `skipped`, which may be null. Throws an
// InputError if the path is none of these, or has no pictures or too many unreadable ones.
ImageSet load_images(const std::string& path, const LoadOptions& options,
                     std::vector<SkippedPicture>* skipped = nullptr);

// Loads pictures and labels of class folders, a labelled list file, a packed file or shards. With `expected_classes` (a
// model's), labels are indices into those: class folders and named classes of shards must have exactly these names, and
// numeric labels must be less than their count. Without, the classes are the sorted folder names, those of the shards,
// or "0" .. the largest label.
LabelledImages load_labelled(const std::string& path, const LoadOptions& options,
                             const std::vector<std::string>& expected_classes = {},
                             std::vector<SkippedPicture>* skipped = nullptr);

// Pictures that another program has in memory: uint8 [count, height, width, 3], RGB, contiguous.
struct PictureArray {
  std::shared_ptr<const uint8_t> pixels;  // keeps them alive
  int64_t count = 0;
  int height = 0, width = 0;

  bool is_given() const { return pixels != nullptr; }
  // "array 100x32x32x3 1f00…", with a digest of the pixels: the target of a run has this name.
  std::string name() const;
};

// The pictures of an array, called "[0]", "[1]", ... They are borrowed if they already have the size that
// `options.preprocessing` asks for, else preprocessed.
ImageSet load_array(const PictureArray& array, const LoadOptions& options);
// The same with labels, indices of `classes`. Throws an InputError unless there is one per picture.
LabelledImages load_labelled_array(const PictureArray& array, const std::vector<int64_t>& labels,
                                   const LoadOptions& options, const std::vector<std::string>& classes);

}  // namespace tributary
