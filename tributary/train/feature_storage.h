// Storage for the features of a whole set: in memory if they fit, else in half precision or in a file.
//
// After each round prototypes need the features of every source for every picture, n x sum_j d_j numbers. For millions
// of pictures that exceeds the memory of a GPU. Evaluation returns a tensor in every case; all computation on it runs
// in float32, one block of rows at a time (adapt/feature_rows.h).
#pragma once

#include <string>

#include "tributary/base/tensor.h"

namespace tributary {

enum class FeatureKind {
  kFloat,   // float32 on the device
  kHalf,    // bfloat16 on the device: the exponents of float32 and 8 bits of its digits
  kMapped,  // float32 in a temporary file, seen as a tensor of the host
};

// Bytes that features may take on `device`: `given`, or half of the free memory if that is negative.
int64_t feature_budget(int64_t given, torch::Device device);

// The first kind of storage for features [rows, joint_width], of all sources together, that fits into `budget` bytes.
FeatureKind feature_kind(int64_t rows, int64_t joint_width, int64_t budget);

// The features of one source, filled batch by batch.
class FeatureStorage {
 public:
  // Allocates [rows, width] at once, so that a full disk is a WorkError here and not a crash later.
  FeatureStorage(FeatureKind kind, int64_t rows, int64_t width, torch::Device device);

  // The next rows, float [b, width].
  void append(const Tensor& features);
  // All rows, once they were added.
  Tensor all() const;

 private:
  Tensor rows_;
  int64_t filled_ = 0;
};

// Float32 [rows, width] in an unnamed file in `folder`, which is deleted with the tensor.
Tensor mapped_rows(int64_t rows, int64_t width, const std::string& folder);

// The folder for such files: $TMPDIR, else /var/tmp, which unlike /tmp is rarely in memory.
std::string folder_for_features();

}  // namespace tributary
