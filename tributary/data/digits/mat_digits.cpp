#include "tributary/data/digits/mat_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/data/digits/mat_file.h"

namespace tributary {
namespace {

constexpr int64_t kMaxMatSide = 65535;  // larger sides are an error
constexpr int64_t kBlock = 64;          // pictures that are transposed at once, to stay in the cache

// The order of an array's dimensions.
struct Order {
  std::array<size_t, 4> dimension;  // of picture, row, column, channel
  bool grey;                        // also with one channel
  const char* text;
};
constexpr Order kPicturesLast = {{3, 0, 1, 2}, false, "[height, width, 3, n]"};
constexpr Order kPicturesFirst = {{0, 1, 2, 3}, true, "[n, height, width] or [n, height, width, 3]"};
constexpr Order kChannelsSecond = {{0, 2, 3, 1}, true, "[n, 1, height, width] or [n, 3, height, width]"};

// The layout of a file.
struct Layout {
  MatKey pictures;
  MatKey labels;
  Order order = kPicturesFirst;
  bool ten_is_zero = false;
};

bool has_either_part(const MatFile& file, const std::string& ending) {
  return file.has("train" + ending) || file.has("test" + ending);
}

void require_part(const MatPath& path) {
  if (path.part.empty())
    input_error("{} holds a training and a test part; name one of them: {}:train or {}:test", path.file, path.file,
                path.file);
}

Layout layout_of(const MatFile& file, const MatPath& path) {
  if (file.has("X")) {
    if (!path.part.empty()) input_error("{} has no parts; leave out :{}", path.file, path.part);
    return {{"X"}, {"y"}, kPicturesLast, true};
  }
  if (file.has("dataset")) {
    require_part(path);
    const int64_t row = path.part == "train" ? 0 : 1;
    return {{"dataset", row}, {"dataset", 2 + row}, kChannelsSecond};
  }
  for (const char* ending : {"_32", "_28", "", "_data"}) {
    if (!has_either_part(file, ending)) continue;
    require_part(path);
    return {{path.part + ending}, {ending == std::string_view("_data") ? path.part + "_label" : "label_" + path.part}};
  }
  std::vector<std::string> names;
  for (const std::string& name : file.names()) names.push_back(printable(name, 20));
  if (names.size() > 10) names.resize(10);
  input_error("{} holds {}, an unknown layout; name SVHN's train_32x32.mat, a file of Digit-Five or IDX", path.file,
              names.empty() ? "no arrays" : fmt::format("{}", fmt::join(names, ", ")));
}

// A file and its layout.
struct Digits {
  explicit Digits(const std::string& given)
      : path(given), parts(mat_path(given)), file(parts.file), layout(layout_of(file, parts)) {}

  void require(const MatKey& key, const char* what) const {
    if (!file.has(key.name)) input_error("{} has no array {} and so no {}; name another file", path, key.name, what);
  }

  // The size of the pictures: n, height, width, channels.
  std::array<int64_t, 4> picture_sizes() {
    require(layout.pictures, "pictures");
    const std::vector<int64_t> given = file.outline(layout.pictures).sizes;
    std::vector<int64_t> sizes = given;
    sizes.resize(std::max<size_t>(4, sizes.size()), 1);
    std::array<int64_t, 4> of = {};
    for (size_t i = 0; i < 4; ++i) of[i] = sizes[layout.order.dimension[i]];
    const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    const bool coloured = of[3] == 3 || (of[3] == 1 && layout.order.grey);
    if (given.size() < 3 || given.size() > 4 || empty || of[1] > kMaxMatSide || of[2] > kMaxMatSide || !coloured)
      input_error("{}: {} has the size [{}]; pictures must be {}", path, layout.pictures.name, fmt::join(given, ", "),
                  layout.order.text);
    return of;
  }

  std::string path;
  MatPath parts;
  MatFile file;
  Layout layout;
};

// The factor that scales pixels to 0 .. 255.
double scale_of(const MatArray& pictures, const std::string& path) {
  double largest = 0;
  for (int64_t i = 0; i < pictures.count(); ++i) {
    const double value = pictures.at(i);
    if (!(value >= 0 && value <= 255))
      input_error("{} has a pixel of {}; pixels must be 0 .. 255 or 0 .. 1, so convert it", path, value);
    largest = std::max(largest, value);
  }
  return pictures.floating && largest <= 1 ? 255 : 1;
}

uint8_t label_from(double value, const std::string& path) {
  if (!(value >= 0 && value <= 255 && value == std::floor(value)))
    input_error("{} has the label {}; labels must be integers, 0 .. 255", path, value);
  return static_cast<uint8_t>(value);
}

// The label of a one-hot row.
uint8_t label_from_row(const MatArray& labels, int64_t row, const std::string& path) {
  const int64_t rows = labels.sizes[0];
  int64_t found = -1;
  for (int64_t column = 0; column < labels.sizes[1]; ++column) {
    const double value = labels.at(row + column * rows);
    if (value == 0) continue;
    if (value != 1 || found >= 0) input_error("{}: row {} of its labels is not one-hot; correct it", path, row + 1);
    found = column;
  }
  if (found < 0) input_error("{}: row {} of its labels is all zeros; correct it", path, row + 1);
  return label_from(static_cast<double>(found), path);
}

}  // namespace

MatPath mat_path(const std::string& path) {
  for (const char* part : {"train", "test"}) {
    const std::string ending = std::string(":") + part;
    if (path.ends_with(".mat" + ending)) return {path.substr(0, path.size() - ending.size()), part};
  }
  return {path, ""};
}

bool is_mat_path(const std::string& path) {
  return mat_path(path).file.ends_with(".mat");
}

PackedImages read_mat_images(const std::string& path) {
  Digits digits(path);
  const auto [count, height, width, channels] = digits.picture_sizes();
  require_packed_size(path, count, height, width, channels);
  const MatArray pictures = digits.file.read(digits.layout.pictures);
  const double scale = scale_of(pictures, path);

  // Strides in the file.
  std::array<int64_t, 4> strides = {};
  std::vector<int64_t> sizes = pictures.sizes;
  sizes.resize(4, 1);
  for (size_t i = 0; i < 4; ++i) {
    strides[i] = 1;
    for (size_t before = 0; before < digits.layout.order.dimension[i]; ++before) strides[i] *= sizes[before];
  }
  PackedImages images{count, static_cast<int>(height), static_cast<int>(width), static_cast<int>(channels), {}};
  const int64_t picture_bytes = height * width * channels;
  images.bytes.resize(static_cast<size_t>(count * picture_bytes));
  for (int64_t first = 0; first < count; first += kBlock) {
    for (int64_t k = 0; k < picture_bytes; ++k) {
      const int64_t y = k / channels / width, x = k / channels % width, c = k % channels;
      const int64_t from = y * strides[1] + x * strides[2] + c * strides[3];
      for (int64_t i = first; i < std::min(count, first + kBlock); ++i)
        images.bytes[static_cast<size_t>(i * picture_bytes + k)] =
            static_cast<uint8_t>(scale * pictures.at(from + i * strides[0]) + 0.5);
    }
  }
  return images;
}

std::vector<uint8_t> read_mat_labels(const std::string& path) {
  Digits digits(path);
  const int64_t count = digits.picture_sizes()[0];
  digits.require(digits.layout.labels, "labels");
  const MatArray labels = digits.file.read(digits.layout.labels);
  const bool rows = labels.count() != count;
  if (rows && (labels.sizes.size() != 2 || labels.sizes[0] != count || labels.sizes[1] == 0))
    input_error("{} has {} pictures but labels of the size [{}]; name a file whose parts belong together", path, count,
                fmt::join(labels.sizes, ", "));
  std::vector<uint8_t> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values.push_back(rows ? label_from_row(labels, i, path) : label_from(labels.at(i), path));
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  if (digits.layout.ten_is_zero && *smallest > 0 && *largest == 10) std::replace(values.begin(), values.end(), 10, 0);
  return values;
}

}  // namespace tributary
