#include "tributary/experiments/skewed_target.h"

#include <filesystem>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/picture_source.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;

std::string write_packed(const PictureSource& source, const std::vector<int64_t>& rows, const std::string& name) {
  LabelledImages subset{{}, {source.classes, {}}};
  for (const int64_t row : rows) {
    const Picture picture = source.decode(row, {}, {}, {});
    subset.images.height = picture.height;
    subset.images.width = picture.width;
    subset.images.names.push_back(source.names[static_cast<size_t>(row)]);
    subset.images.pixels.insert(subset.images.pixels.end(), picture.rgb.begin(), picture.rgb.end());
    subset.labels.values.push_back(source.labels[static_cast<size_t>(row)]);
  }
  write_idx_labels(name + "-labels.idx", subset.labels);
  write_idx_images(name + "-images.idx", subset.images);
  return name + "-images.idx";
}

std::string write_list(const PictureSource& source, const std::vector<int64_t>& rows, const std::string& name,
                       const std::string& path) {
  std::string list;
  for (const int64_t row : rows) {
    const auto i = static_cast<size_t>(row);
    const std::string file = fs::absolute(source.path ? source.path(row) : source.names[i]).string();
    if (!fs::is_regular_file(file))
      input_error("{} has no skewed subsets: its pictures are not files of their own, as in shards", path);
    list += fmt::format("{} {}\n", file, source.labels[i]);
  }
  write_file_atomically(name + ".txt", list);
  return name + ".txt";
}

}  // namespace

std::string write_skewed(const std::string& path, Skew skew, uint64_t seed, const std::string& name) {
  const PictureSource source = open_labelled(path, "", {});
  const std::vector<int64_t> rows = skewed_rows({source.classes, source.labels}, skew, seed);
  make_folder(fs::path(name).parent_path().string());
  return source.read ? write_list(source, rows, name, path) : write_packed(source, rows, name);
}

}  // namespace tributary
