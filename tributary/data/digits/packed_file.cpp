#include "tributary/data/digits/packed_file.h"

#include "tributary/base/error.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/digits/mat_digits.h"
#include "tributary/data/digits/usps_text.h"

namespace tributary {
namespace {

enum class PackedForm { kIdx, kMat, kUspsText };

// What is none of them is taken for IDX, whose reader then says so.
PackedForm form_of(const std::string& path) {
  if (is_mat_path(path)) return PackedForm::kMat;
  return is_usps_text(path) ? PackedForm::kUspsText : PackedForm::kIdx;
}

}  // namespace

std::string file_of(const std::string& path) {
  return mat_path(path).file;
}

bool is_packed_file(const std::string& path) {
  return path.ends_with(".idx") || path.ends_with(".gz") || form_of(path) != PackedForm::kIdx || is_idx_file(path);
}

PackedImages read_packed_images(const std::string& path) {
  switch (form_of(path)) {
    case PackedForm::kMat:
      return read_mat_images(path);
    case PackedForm::kUspsText:
      return read_usps_text(path).images;
    case PackedForm::kIdx:
      break;
  }
  return read_idx_images(path);
}

PackedLabels read_packed_labels(const std::string& path, int64_t count) {
  const PackedForm form = form_of(path);
  PackedLabels labels{path, {}};
  if (form == PackedForm::kMat) {
    labels.values = read_mat_labels(path);
  } else if (form == PackedForm::kUspsText) {
    labels.values = read_usps_text(path).labels;
  } else {
    labels.path = labels_path_for(path);
    labels.values = read_idx_labels(labels.path);
  }
  if (static_cast<int64_t>(labels.values.size()) != count)
    input_error("{} has {} labels but {} has {} pictures; name two files that belong together", labels.path,
                labels.values.size(), path, count);
  return labels;
}

}  // namespace tributary
