#include "tributary/data/load.h"

#include <zlib.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/memory.h"
#include "tributary/base/threads.h"
#include "tributary/data/crop.h"
#include "tributary/data/picture_source.h"

namespace tributary {
namespace {

void check_options(const LoadOptions& options) {
  TRIBUTARY_CHECK(options.preprocessing.size > 0 && options.preprocessing.resize >= options.preprocessing.size,
                  "load {} of {}", options.preprocessing.size, options.preprocessing.resize);
  TRIBUTARY_CHECK(options.max_bad_share >= 0 && options.max_pixels > 0, "bad share {}, pixels {}",
                  options.max_bad_share, options.max_pixels);
}

ImageSet empty_set(const LoadOptions& options) {
  ImageSet set;
  set.height = set.width = options.preprocessing.resize;
  set.crop = options.preprocessing.size;
  set.threads = options.threads;
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
    work_error("{} pictures of {} at {} x {} need {:.1f} GB, more than the available memory; set a smaller --memory",
               count, path, set.width, set.height, static_cast<double>(count * set.picture_bytes()) / 1e9);
  }
}

// Returns the size of the picture's file.
size_t decode_to(uint8_t* target, const PictureSource& source, int64_t index, const LoadOptions& options) {
  thread_local std::vector<uint8_t> memory;  // reused, to avoid page faults
  const std::vector<uint8_t> file = source.read ? source.read(index) : std::vector<uint8_t>();
  Picture picture =
      preprocessed(source.decode(index, file, {options.max_pixels}, std::move(memory)), options.preprocessing);
  std::memcpy(target, picture.rgb.data(), picture.rgb.size());
  memory = std::move(picture.rgb);
  return file.size();
}

// Identifies the pictures of a set when a run resumes (FNV-1a).
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  void add(uint64_t number) { add(fmt::format("/{}/", number)); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

// Calls decode(i) for every picture and returns the errors of those that cannot be read.
template <typename Decode>
std::vector<std::optional<std::string>> decode_errors(int64_t count, int threads, Decode decode) {
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

// Returns a function that decodes the pictures `good` on demand. All of them have been decoded once before. Copies of a
// set share its state.
std::function<void(int64_t, uint8_t*)> reader_of(PictureSource source, std::vector<int64_t> good,
                                                 const std::string& path, const LoadOptions& options) {
  const auto shared = std::make_shared<const PictureSource>(std::move(source));
  const auto numbers = std::make_shared<const std::vector<int64_t>>(std::move(good));
  return [shared, numbers, path, options](int64_t i, uint8_t* to) {
    const int64_t index = (*numbers)[static_cast<size_t>(i)];
    try {
      decode_to(to, *shared, index, options);
    } catch (const PictureError& error) {
      work_error("{} can no longer be read ({}); do not change pictures during a run",
                 shared->path ? shared->path(index) : "a picture of " + path, error.what());
    }
  };
}

// Decodes all pictures. Skipped ones leave no gap in the set or in the labels.
LabelledImages decode_all(const std::string& path, PictureSource source, const LoadOptions& options,
                          std::vector<SkippedPicture>* skipped) {
  const int64_t total = source.size();
  LabelledImages result{empty_set(options), {std::move(source.classes), {}}};
  ImageSet& set = result.images;
  const auto bytes = static_cast<size_t>(set.picture_bytes());
  const bool in_memory = fits(total, set, options);
  if (in_memory) allocate(set, total, path);
  std::vector<uint64_t> file_sizes(static_cast<size_t>(total));
  const auto reasons = decode_errors(total, options.threads, [&](int64_t index) {
    thread_local std::vector<uint8_t> scratch;
    if (!in_memory) scratch.resize(bytes);
    file_sizes[static_cast<size_t>(index)] =
        decode_to(in_memory ? set.pixels.data() + index * set.picture_bytes() : scratch.data(), source, index, options);
  });

  std::vector<SkippedPicture> bad = std::move(source.skipped);
  const size_t pictures = reasons.size() + unreadable_pictures(bad);
  std::vector<int64_t> good;
  Digest digest;
  digest.add(source.content);
  for (size_t i = 0; i < reasons.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (reasons[i]) {
      bad.push_back({source.path ? source.path(index) : source.names[i], *reasons[i]});
      continue;
    }
    if (in_memory && set.names.size() != i)
      std::memcpy(set.pixels.data() + set.names.size() * bytes, set.pixels.data() + i * bytes, bytes);
    if (!in_memory) good.push_back(index);
    digest.add(source.names[i]);
    digest.add(file_sizes[i]);
    set.names.push_back(std::move(source.names[i]));
    if (!source.labels.empty()) result.labels.values.push_back(source.labels[i]);
  }
  set.digest = digest.value();
  if (in_memory) {
    set.pixels.resize(set.names.size() * bytes);
  } else {
    source.names = {};
    source.labels = {};
    set.read = reader_of(std::move(source), std::move(good), path, options);
  }
  if (skipped != nullptr) skipped->insert(skipped->end(), bad.begin(), bad.end());
  check_skipped_share(path, bad, pictures, options.max_bad_share);
  return result;
}

}  // namespace

ImageSet load_images(const std::string& path, const LoadOptions& options, std::vector<SkippedPicture>* skipped) {
  check_options(options);
  return decode_all(path, open_pictures(path, options.root, options.threads), options, skipped).images;
}

std::string PictureArray::name() const {
  const auto bytes = static_cast<size_t>(count * height * width * 3);
  return fmt::format("array {}x{}x{}x3 {:08x}", count, height, width, crc32_z(0, pixels.get(), bytes));
}

ImageSet load_array(const PictureArray& array, const LoadOptions& options) {
  check_options(options);
  const int size = options.preprocessing.resize;
  const int64_t bytes = int64_t{3} * array.height * array.width;
  PictureSource source;
  for (int64_t i = 0; i < array.count; ++i) source.names.push_back(fmt::format("[{}]", i));
  source.content = crc32_z(0, array.pixels.get(), static_cast<size_t>(array.count * bytes));
  if (array.height == size && array.width == size) {
    ImageSet set = empty_set(options);
    set.names = std::move(source.names);
    set.borrowed = array.pixels;
    set.digest = source.content;
    return set;
  }
  source.decode = [array, bytes](int64_t index, std::span<const uint8_t>, const DecodeLimits& limits,
                                 std::vector<uint8_t> memory) {
    check_picture_size(array.height, array.width, limits);
    Picture picture{array.height, array.width, std::move(memory)};
    const uint8_t* const first = array.pixels.get() + index * bytes;
    picture.rgb.assign(first, first + bytes);
    return picture;
  };
  return decode_all("the array", std::move(source), options, nullptr).images;
}

LabelledImages load_labelled_array(const PictureArray& array, const std::vector<int64_t>& labels,
                                   const LoadOptions& options, const std::vector<std::string>& classes) {
  if (static_cast<int64_t>(labels.size()) != array.count)
    input_error("there are {} labels for {} pictures; give one per picture", labels.size(), array.count);
  for (const int64_t label : labels)
    if (label < 0 || label >= static_cast<int64_t>(classes.size()))
      input_error("label {} is none of the model's {} classes, 0 .. {}; give indices of its classes", label,
                  classes.size(), classes.size() - 1);
  return {load_array(array, options), {classes, labels}};
}

LabelledImages load_labelled(const std::string& path, const LoadOptions& options,
                             const std::vector<std::string>& expected_classes, std::vector<SkippedPicture>* skipped) {
  check_options(options);
  return decode_all(path, open_labelled(path, options.root, expected_classes, options.threads), options, skipped);
}

}  // namespace tributary
