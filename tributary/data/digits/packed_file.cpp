#include "tributary/data/digits/packed_file.h"

#include "tributary/base/error.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/digits/mat_digits.h"
#include "tributary/data/digits/usps_text.h"

namespace tributary {
namespace {

enum class PackedFormat { kIdx, kMat, kUspsText };

// Unknown files count as IDX, whose reader reports the error.
PackedFormat format_of(const std::string& path) {
  if (is_mat_path(path)) return PackedFormat::kMat;
  return is_usps_text(path) ? PackedFormat::kUspsText : PackedFormat::kIdx;
}

}  // namespace

std::string file_of(const std::string& path) {
  return mat_path(path).file;
}

bool is_packed_file(const std::string& path) {
  return path.ends_with(".idx") || path.ends_with(".gz") || format_of(path) != PackedFormat::kIdx || is_idx_file(path);
}

PackedImages read_packed_images(const std::string& path) {
  switch (format_of(path)) {
    case PackedFormat::kMat:
      return read_mat_images(path);
    case PackedFormat::kUspsText:
      return read_usps_text(path).images;
    case PackedFormat::kIdx:
      break;
  }
  return read_idx_images(path);
}

PackedLabels read_packed_labels(const std::string& path, int64_t count) {
  const PackedFormat format = format_of(path);
  PackedLabels labels{path, {}};
  if (format == PackedFormat::kMat) {
    labels.values = read_mat_labels(path);
  } else if (format == PackedFormat::kUspsText) {
    labels.values = read_usps_text(path).labels;
  } else {
    labels.path = labels_path_for(path);
    labels.values = read_idx_labels(labels.path);
  }
  if (static_cast<int64_t>(labels.values.size()) != count)
    input_error("{} has {} labels but {} has {} pictures; name the labels file of the same pictures", labels.path,
                labels.values.size(), path, count);
  return labels;
}

}  // namespace tributary
