// From a path to pictures: decoded, resized, on all threads.
//
// Adaptation passes over the target set many times; decoding is done once here, and what remains is a block of bytes.
// A set too large for that is looked through once and then decoded anew whenever a picture is needed. A picture that
// cannot be read is set aside with its reason, and the rest goes on; when too many are bad, something else is wrong and
// the load stops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"
#include "tributary/data/image/picture.h"
#include "tributary/data/image_set.h"
#include "tributary/data/skipped.h"

namespace tributary {

struct LoadOptions {
  Preprocessing preprocessing;                     // in memory pictures are framing.resize pixels wide and high
  int threads = 0;                                 // for decoding; 0: all of the machine
  std::string root;                                // relative paths of list files begin here; empty: beside the list
  double max_bad_share = 0.1;                      // more unreadable pictures than this share is an error
  int64_t max_pixels = DecodeLimits{}.max_pixels;  // a larger picture is not decoded
  int64_t memory = -1;                             // bytes of decoded pictures; -1: half of what the machine has free
  int64_t gpu_memory = -1;                         // the same of a GPU
  int64_t feature_memory = -1;                     // bytes of features in memory; -1: half of what the device has free
};

// The pictures of a folder (all levels; class folders mean nothing here), a list file, a picture file, an IDX images
// file, a .mat file, the text of USPS or tar shards (shards.h). Those set aside are added to `skipped`, which may be
// null. InputError if the path is none of these, holds no pictures or too many bad ones.
ImageSet load_images(const std::string& path, const LoadOptions& options,
                     std::vector<SkippedPicture>* skipped = nullptr);

// The pictures and labels of a folder of class folders, a list file with labels, a file of many or shards. With
// `expected_classes`, a model's, the labels are indices into those: class folders, and shards that name their classes,
// must have exactly these names, numbers must be below their count. Without, the classes are the sorted folder names,
// those of the shards or "0" .. the largest label.
LabelledImages load_labelled(const std::string& path, const LoadOptions& options,
                             const std::vector<std::string>& expected_classes = {},
                             std::vector<SkippedPicture>* skipped = nullptr);

}  // namespace tributary
