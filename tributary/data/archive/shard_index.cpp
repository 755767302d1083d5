#include "tributary/data/archive/shard_index.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/base/threads.h"
#include "tributary/data/archive/shard_paths.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/image/decode_ppm.h"
#include "tributary/data/listing.h"

namespace tributary {
namespace {

constexpr int64_t kMaxPictureBytes = int64_t{1} << 30;  // as for single files
constexpr int64_t kMaxLabelBytes = 64;
constexpr int64_t kMaxClassesBytes = int64_t{16} << 20;
constexpr int64_t kMaxClasses = 1'000'000;  // a larger label is an error
constexpr size_t kMaxOpen = 200;            // with more shards, each read opens its file

// A path in an archive, split into key and extension. Both are empty if it is not part of a sample.
struct SamplePart {
  std::string key;
  std::string extension;  // lower case
};

SamplePart part_of(const std::string& name) {
  const size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string::npos || dot == base) return {};
  std::string extension = name.substr(dot + 1);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return {name.substr(0, dot), std::move(extension)};
}

bool is_picture_extension(std::string_view extension) {
  if (extension.find('.') != std::string_view::npos) return false;  // seg.png: an annotation
  return extension == "ppm" || looks_like_picture_name(fmt::format("x.{}", extension));
}

std::string text_of(const TarFile& shard, const TarMember& member, int64_t max_bytes) {
  if (member.size > max_bytes)
    input_error("{}: {} has {} bytes, more than {}; pack it again", shard.path(), printable(member.name),
                thousands(member.size), thousands(max_bytes));
  const std::vector<uint8_t> bytes = shard.read(member.offset, member.size);
  return {bytes.begin(), bytes.end()};
}

int64_t read_label(const TarFile& shard, const TarMember& member) {
  const std::string text = text_of(shard, member, kMaxLabelBytes);
  const size_t first = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n") + 1;
  const std::string digits = first == std::string::npos ? "" : text.substr(first, end - first);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    input_error("{}: {} holds '{}' instead of a class index; correct it and pack again", shard.path(),
                printable(member.name), printable(digits));
  int64_t value = 0;
  for (const char c : digits) value = std::min(kMaxClasses, 10 * value + (c - '0'));
  return value;
}

std::vector<std::string> read_classes(const TarFile& shard, const TarMember& member) {
  const std::string text = text_of(shard, member, kMaxClassesBytes);
  std::vector<std::string> classes;
  std::unordered_set<std::string_view> known;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (line.empty() || std::any_of(line.begin(), line.end(), is_control) || !is_utf8(line) ||
        !known.insert(line).second)
      input_error("{}: line {} of {} is empty, a duplicate or not text ('{}'); write one class name per line",
                  shard.path(), classes.size() + 1, kClassesMember, printable(line));
    classes.emplace_back(line);
  }
  if (classes.empty())
    input_error("{}: {} is empty; write one class name per line or remove it", shard.path(), kClassesMember);
  return classes;
}

// The index of one shard.
struct Part {
  TarFile shard;
  std::vector<ShardPicture> pictures;
  std::vector<std::string> names;
  std::vector<int64_t> labels;  // -1 if a picture has none
  std::vector<std::string> classes;
  std::vector<SkippedPicture> skipped;
};

// Indexes one shard. Pictures and labels are matched by key; keys are not kept.
Part index_shard(const std::string& path, int32_t number, bool labelled) {
  Part part{TarFile(path), {}, {}, {}, {}, {}};
  std::unordered_map<std::string, size_t> pictures;
  std::unordered_map<std::string, int64_t> labels;
  part.shard.for_each_member([&](const TarMember& member) {
    check_interrupt();
    if (labelled && member.name == kClassesMember) {
      if (!part.classes.empty()) input_error("{} has {} twice; pack it again", path, kClassesMember);
      part.classes = read_classes(part.shard, member);
      return;
    }
    auto [key, extension] = part_of(member.name);
    if (is_picture_extension(extension)) {
      if (!pictures.emplace(std::move(key), part.pictures.size()).second)
        input_error("{}: {} is the second picture of its sample; give every picture a unique name before the first dot",
                    path, printable(member.name));
      part.pictures.push_back({member.offset, member.size, number, extension == "ppm"});
      part.names.push_back(path + "/" + member.name);
    } else if (labelled && extension == "cls") {
      if (!labels.emplace(std::move(key), read_label(part.shard, member)).second)
        input_error("{}: {} occurs twice; pack it again", path, printable(member.name));
    } else if (auto skipped = skipped_by_name(path + "/" + member.name);
               skipped && skipped->is_picture && extension.find('.') == std::string::npos) {
      part.skipped.push_back(std::move(*skipped));
    }
  });
  if (!labelled) return part;
  part.labels.assign(part.pictures.size(), -1);
  for (const auto& [key, index] : pictures) {
    const auto found = labels.find(key);
    if (found != labels.end()) part.labels[index] = found->second;
  }
  return part;
}

ShardIndex index_all(const std::string& path, bool labelled, int threads) {
  const std::vector<std::string> files = shard_files(path);
  if (files.empty()) input_error("{} no longer holds shards; check the path", path);
  std::vector<std::optional<Part>> parts(files.size());
  parallel_for(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
    Part part = index_shard(files[static_cast<size_t>(i)], static_cast<int32_t>(i), labelled);
    if (files.size() > kMaxOpen) part.shard.close();
    parts[static_cast<size_t>(i)].emplace(std::move(part));
  });
  ShardIndex index;
  index.classes = parts[0]->classes;
  for (size_t i = 0; i < parts.size(); ++i) {
    Part& part = *parts[i];
    if (part.classes != index.classes)
      input_error("{} and {} have different classes in {}; name shards that were packed together", files[0], files[i],
                  kClassesMember);
    index.shards.push_back(std::move(part.shard));
    index.pictures.insert(index.pictures.end(), part.pictures.begin(), part.pictures.end());
    std::move(part.names.begin(), part.names.end(), std::back_inserter(index.names));
    index.labels.insert(index.labels.end(), part.labels.begin(), part.labels.end());
    std::move(part.skipped.begin(), part.skipped.end(), std::back_inserter(index.skipped));
    parts[i].reset();
  }
  if (index.pictures.empty())
    input_error("{} holds no pictures ({}, or .ppm, in tar); name shards that do", path, kPictureFormats);
  return index;
}

}  // namespace

std::vector<uint8_t> ShardIndex::read(int64_t index) const {
  const ShardPicture& picture = pictures[static_cast<size_t>(index)];
  if (picture.size > kMaxPictureBytes) throw PictureError("file of more than 1 GiB");
  return shards[static_cast<size_t>(picture.shard)].read(picture.offset, picture.size);
}

Picture ShardIndex::decode(int64_t index, std::span<const uint8_t> file, const DecodeLimits& limits,
                           std::vector<uint8_t> memory) const {
  const bool raw = pictures[static_cast<size_t>(index)].raw;
  return raw ? decode_ppm(file, limits, std::move(memory)) : decode_picture(file, limits, std::move(memory));
}

ShardIndex index_shards(const std::string& path, int threads) {
  return index_all(path, /*labelled=*/false, threads);
}

ShardIndex index_labelled_shards(const std::string& path, const std::vector<std::string>& expected, int threads) {
  ShardIndex index = index_all(path, /*labelled=*/true, threads);
  const bool named = !index.classes.empty();
  const auto limit = static_cast<int64_t>(named              ? index.classes.size()
                                          : expected.empty() ? kMaxClasses
                                                             : expected.size());
  for (size_t i = 0; i < index.labels.size(); ++i) {
    if (index.labels[i] < 0)
      input_error("{} has no label; put its class into a .cls file of the same name", printable(index.names[i], 200));
    if (index.labels[i] >= limit)
      input_error("{} has label {} but {} {} classes, 0 .. {}; correct its .cls file", printable(index.names[i], 200),
                  index.labels[i],
                  named              ? "the shards name"
                  : expected.empty() ? "the limit is"
                                     : "the model knows",
                  limit, limit - 1);
  }
  if (named && !expected.empty()) {
    const std::vector<int64_t> position = match_classes(path, "class", "classes", index.classes, expected);
    for (int64_t& label : index.labels) label = position[static_cast<size_t>(label)];
  }
  if (!expected.empty()) {
    index.classes = expected;
  } else if (!named) {
    index.classes = numbered_classes(*std::max_element(index.labels.begin(), index.labels.end()) + 1);
  }
  return index;
}

}  // namespace tributary
