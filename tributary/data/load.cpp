#include "tributary/data/load.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/memory.h"
#include "tributary/base/threads.h"
#include "tributary/data/framed.h"
#include "tributary/data/list_file.h"
#include "tributary/data/listing.h"
#include "tributary/data/packed_file.h"

namespace tributary {
namespace {

// No file of a picture within the pixel limit is larger than this.
constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

void check_options(const LoadOptions& options) {
  TRIBUTARY_CHECK(options.framing.size > 0 && options.framing.resize >= options.framing.size, "load {} of {}",
                  options.framing.size, options.framing.resize);
  TRIBUTARY_CHECK(options.max_bad_share >= 0 && options.max_pixels > 0, "bad share {}, pixels {}",
                  options.max_bad_share, options.max_pixels);
}

// A set without names and pictures.
ImageSet empty_set(const LoadOptions& options) {
  ImageSet set;
  set.height = set.width = options.framing.resize;
  set.crop = options.framing.size;
  set.threads = options.threads;
  set.gpu_bytes = options.gpu_memory;
  set.feature_bytes = options.feature_memory;
  return set;
}

bool fits(int64_t count, const ImageSet& set, const LoadOptions& options) {
  return count * set.picture_bytes() <= (options.memory >= 0 ? options.memory : available_memory() / 2);
}

void allocate(ImageSet& set, int64_t count, const std::string& path) {
  try {
    set.pixels.resize(static_cast<size_t>(count * set.picture_bytes()));
  } catch (const std::exception&) {
    work_error("{} pictures of {} at {} x {} need {:.1f} GB of memory, which this machine does not have; try --memory",
               count, path, set.width, set.height, static_cast<double>(count * set.picture_bytes()) / 1e9);
  }
}

std::vector<uint8_t> read_whole_file(const std::string& path) {
  std::error_code error;
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw PictureError("cannot be opened");
  if (size > kMaxFileBytes) throw PictureError("file of more than 1 GiB");
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.gcount() != size) throw PictureError("cannot be read");
  return bytes;
}

void decode_to(uint8_t* target, const std::string& path, const LoadOptions& options) {
  decode_framed(read_whole_file(path), options.framing, {options.max_pixels}, target);
}

// One bad picture in ten is bad luck, more is a mistake.
void check_bad_share(const std::string& path, const std::vector<SetAside>& bad, size_t total,
                     const LoadOptions& options) {
  if (bad.empty()) return;
  if (total == 1) input_error("{}: not a picture we can read ({}); replace it", bad[0].path, bad[0].reason);
  if (bad.size() == total)
    input_error("none of the {} pictures of {} can be read; check that they are pictures, first {} ({})", total, path,
                bad[0].path, bad[0].reason);
  if (static_cast<double>(bad.size()) <= options.max_bad_share * static_cast<double>(total)) return;
  input_error("{} of {} pictures of {} cannot be read, more than {:g} %; repair or remove them, first {} ({})",
              bad.size(), total, path, 100 * options.max_bad_share, bad[0].path, bad[0].reason);
}

// Calls decode(i) for every picture; what went wrong with those that cannot be read.
template <typename Decode>
std::vector<std::optional<std::string>> reasons_of(int64_t count, int threads, Decode decode) {
  std::vector<std::optional<std::string>> reasons(static_cast<size_t>(count));
  parallel_for(count, threads, [&](int64_t index) {
    check_interrupt();
    try {
      decode(index);
    } catch (const PictureError& error) {
      reasons[static_cast<size_t>(index)] = error.what();
    }
  });
  return reasons;
}

// Reads the pictures of `paths` one at a time, whenever asked. All of them could be read before.
std::function<void(int64_t, uint8_t*)> reader_of(std::vector<std::string> paths, const LoadOptions& options) {
  return [paths = std::move(paths), options](int64_t index, uint8_t* to) {
    const std::string& path = paths[static_cast<size_t>(index)];
    try {
      decode_to(to, path, options);
    } catch (const PictureError& error) {
      work_error("{} cannot be read any more ({}); leave the pictures alone while they are worked with", path,
                 error.what());
    }
  };
}

// Decodes what is listed. Pictures that fail leave no gap, neither in the set nor in the labels.
LabelledImages decode_listing(const std::string& path, Listing listing, const LoadOptions& options,
                              std::vector<SetAside>* set_aside) {
  const auto total = static_cast<int64_t>(listing.pictures.size());
  LabelledImages result{empty_set(options), {std::move(listing.classes), {}}};
  ImageSet& set = result.images;
  const auto bytes = static_cast<size_t>(set.picture_bytes());
  const bool kept = fits(total, set, options);
  if (kept) allocate(set, total, path);
  const auto reasons = reasons_of(total, options.threads, [&](int64_t index) {
    thread_local std::vector<uint8_t> looked_at;
    if (!kept) looked_at.resize(bytes);
    decode_to(kept ? set.pixels.data() + index * set.picture_bytes() : looked_at.data(),
              listing.pictures[static_cast<size_t>(index)].path, options);
  });

  std::vector<SetAside> bad;
  std::vector<std::string> good;
  for (size_t i = 0; i < reasons.size(); ++i) {
    ListedPicture& picture = listing.pictures[i];
    if (reasons[i]) {
      bad.push_back({picture.path, *reasons[i]});
      continue;
    }
    if (kept && set.names.size() != i)
      std::memcpy(set.pixels.data() + set.names.size() * bytes, set.pixels.data() + i * bytes, bytes);
    if (!kept) good.push_back(std::move(picture.path));
    set.names.push_back(std::move(picture.name));
    result.labels.values.push_back(picture.label);
  }
  if (kept)
    set.pixels.resize(set.names.size() * bytes);
  else
    set.read = reader_of(std::move(good), options);
  if (set_aside != nullptr) set_aside->insert(set_aside->end(), bad.begin(), bad.end());
  check_bad_share(path, bad, reasons.size(), options);
  return result;
}

Picture packed_picture(const PackedImages& images, int64_t index) {
  const auto pixels = static_cast<size_t>(images.height) * static_cast<size_t>(images.width);
  Picture picture{images.height, images.width, std::vector<uint8_t>(3 * pixels)};
  const uint8_t* bytes = images.bytes.data() + static_cast<size_t>(index * images.channels) * pixels;
  if (images.channels == 3) {
    std::copy_n(bytes, 3 * pixels, picture.rgb.data());
  } else {
    for (size_t i = 0; i < pixels; ++i) std::fill_n(picture.rgb.data() + 3 * i, 3, bytes[i]);
  }
  return picture;
}

ImageSet load_packed(const std::string& path, const LoadOptions& options) {
  const auto images = std::make_shared<PackedImages>(read_packed_images(path));
  if (images->count == 0) input_error("{} holds no pictures; give a file that does", path);
  ImageSet set = empty_set(options);
  for (int64_t i = 0; i < images->count; ++i) set.names.push_back(fmt::format("{}[{}]", path, i));
  const auto read = [images, framing = options.framing](int64_t index, uint8_t* to) {
    const Picture resized = framed(packed_picture(*images, index), framing);
    std::memcpy(to, resized.rgb.data(), resized.rgb.size());
  };
  if (!fits(images->count, set, options)) {
    set.read = read;
    return set;
  }
  allocate(set, images->count, path);
  parallel_for(images->count, options.threads, [&](int64_t index) {
    check_interrupt();
    read(index, set.pixels.data() + index * set.picture_bytes());
  });
  return set;
}

Labels load_packed_labels(const std::string& images_path, int64_t count,
                          const std::vector<std::string>& expected_classes) {
  const auto [path, values] = read_packed_labels(images_path, count);
  const int largest = *std::max_element(values.begin(), values.end());
  if (!expected_classes.empty() && static_cast<size_t>(largest) >= expected_classes.size())
    input_error("{} has label {} but the model knows {} classes, 0 .. {}; name the labels of that model's task", path,
                largest, expected_classes.size(), expected_classes.size() - 1);
  return {expected_classes.empty() ? numbered_classes(largest + 1) : expected_classes, {values.begin(), values.end()}};
}

}  // namespace

ImageSet load_images(const std::string& path, const LoadOptions& options, std::vector<SetAside>* set_aside) {
  check_options(options);
  switch (kind_of_path(path)) {
    case PathKind::kFolder:
      return decode_listing(path, list_folder(path), options, set_aside).images;
    case PathKind::kList:
      return decode_listing(path, list_from_file(path, options.root), options, set_aside).images;
    case PathKind::kPicture:
      return decode_listing(path, {{{path, path, -1}}, {}}, options, set_aside).images;
    case PathKind::kPacked:
      return load_packed(path, options);
  }
  TRIBUTARY_CHECK(false, "kind of {}", path);
}

LabelledImages load_labelled(const std::string& path, const LoadOptions& options,
                             const std::vector<std::string>& expected_classes, std::vector<SetAside>* set_aside) {
  check_options(options);
  switch (kind_of_path(path)) {
    case PathKind::kFolder:
      return decode_listing(path, list_class_folders(path, expected_classes), options, set_aside);
    case PathKind::kList:
      return decode_listing(path, list_from_labelled_file(path, options.root, expected_classes), options, set_aside);
    case PathKind::kPicture:
      input_error("{} is a single picture, which has no label; name a folder of class folders or a list", path);
    case PathKind::kPacked: {
      LabelledImages result;
      result.images = load_packed(path, options);
      result.labels = load_packed_labels(path, result.images.size(), expected_classes);
      return result;
    }
  }
  TRIBUTARY_CHECK(false, "kind of {}", path);
}

}  // namespace tributary
