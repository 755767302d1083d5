// Where the features of a whole set are kept: in memory while they fit, in half precision or in a file when not.
//
// After each round every source has looked at every picture, and prototypes need all that it saw: n x sum_j d_j
// numbers. For millions of pictures that is more than a GPU has to give. What evaluation hands out is a tensor in any
// case; whoever computes with it takes its rows block by block (adapt/feature_rows.h).
#pragma once

#include <string>

#include "tributary/base/tensor.h"

namespace tributary {

enum class FeatureKind {
  kFloat,   // float32 on the device
  kHalf,    // bfloat16 on the device: the exponents of float32 and 8 bits of its digits
  kMapped,  // float32 in a temporary file, seen as a tensor of the host
};

// Bytes that features may take on `device`: `given`, or half of what is free there now where that is negative.
int64_t feature_budget(int64_t given, torch::Device device);

// How features [rows, joint_width] of all sources together are kept within `budget` bytes: the first kind that fits.
FeatureKind feature_kind(int64_t rows, int64_t joint_width, int64_t budget);

// The features of one source, which come a batch at a time.
class FeatureStorage {
 public:
  // Room for [rows, width] at once, so that a file that the disk cannot hold is a WorkError here and not a crash later.
  FeatureStorage(FeatureKind kind, int64_t rows, int64_t width, torch::Device device);

  // The next rows, float [b, width].
  void append(const Tensor& features);
  // All of them, when all are there.
  Tensor all() const;

 private:
  Tensor rows_;
  int64_t filled_ = 0;
};

// Float32 [rows, width] in a file of `folder` that has no name and is gone with the tensor.
Tensor mapped_rows(int64_t rows, int64_t width, const std::string& folder);

// The folder for such files: $TMPDIR, else /var/tmp, which unlike /tmp is rarely a part of the memory.
std::string folder_for_features();

}  // namespace tributary
