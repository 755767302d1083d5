#include "tributary/data/match_labels.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/path_names.h"
#include "tributary/base/text.h"
#include "tributary/base/threads.h"

namespace tributary {
namespace {

constexpr int64_t kMissing = -1, kAmbiguous = -2;

// The labels found for all pictures, or why not.
struct Attempt {
  std::vector<int64_t> labels;                               // kMissing or kAmbiguous where none was found
  std::pair<int64_t, int64_t> conflict{kMissing, kMissing};  // the labels of the first ambiguous picture

  bool complete() const {
    return std::none_of(labels.begin(), labels.end(), [](int64_t label) { return label < 0; });
  }
};

// Looks up every key of `wanted`. Equal keys with different labels are ambiguous; if `unique`, so are all equal keys.
template <typename Key>
Attempt look_up(const std::vector<Key>& wanted, const std::vector<Key>& known, const std::vector<int64_t>& labels,
                bool unique) {
  struct Entry {
    int64_t label, other;  // `other` differs if there are two labels
    bool repeated = false;
  };
  std::unordered_map<Key, Entry> entries;
  for (size_t i = 0; i < known.size(); ++i) {
    const auto [entry, added] = entries.try_emplace(known[i], Entry{labels[i], labels[i]});
    if (added) continue;
    entry->second.repeated = true;
    if (labels[i] != entry->second.label) entry->second.other = labels[i];
  }
  std::unordered_map<Key, int64_t> uses;
  if (unique)
    for (const Key& key : wanted) ++uses[key];
  Attempt attempt;
  for (const Key& key : wanted) {
    const auto found = entries.find(key);
    if (found == entries.end()) {
      attempt.labels.push_back(kMissing);
      continue;
    }
    const Entry& entry = found->second;
    const bool ambiguous = entry.label != entry.other || (unique && (entry.repeated || uses[key] > 1));
    if (entry.label != entry.other && attempt.conflict.first < 0) attempt.conflict = {entry.label, entry.other};
    attempt.labels.push_back(ambiguous ? kAmbiguous : entry.label);
  }
  return attempt;
}

uint64_t hash_of(const uint8_t* bytes, size_t count) {
  uint64_t hash = count;
  const auto add = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= count; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    add(word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + at, count - at);
  add(rest);
  return hash;
}

// A hash of the pixels of every picture.
std::vector<uint64_t> content_of(const ImageSet& set) {
  std::vector<uint64_t> hashes(static_cast<size_t>(set.size()));
  const auto bytes = static_cast<size_t>(set.picture_bytes());
  parallel_for(set.size(), set.threads, [&](int64_t i) {
    check_interrupt();
    thread_local std::vector<uint8_t> pixels;
    if (!set.in_memory()) {
      pixels.resize(bytes);
      set.read(i, pixels.data());
    }
    hashes[static_cast<size_t>(i)] = hash_of(set.in_memory() ? set.picture(i) : pixels.data(), bytes);
  });
  return hashes;
}

Attempt by_content(const ImageSet& wanted, const LabelledImages& labelled) {
  Attempt attempt;
  if (wanted.height != labelled.images.height || wanted.width != labelled.images.width) {
    attempt.labels.assign(static_cast<size_t>(wanted.size()), kMissing);
    return attempt;
  }
  const std::vector<uint64_t> contents = content_of(wanted), known = content_of(labelled.images);
  if (contents != known) return look_up(contents, known, labelled.labels.values, /*unique=*/false);
  attempt.labels = labelled.labels.values;  // a copy in the same order, so equal pictures may differ in label
  return attempt;
}

// "file.idx[17]" is a position in a file, not a name.
bool are_positions(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(']'); });
}

[[noreturn]] void refuse(const PicturesToLabel& wanted, const Labels& labels, const Attempt& attempt,
                         const std::string& labels_path) {
  const auto missing = std::find(attempt.labels.begin(), attempt.labels.end(), kMissing);
  const auto name_at = [&](auto found) {
    return printable(wanted.names[static_cast<size_t>(found - attempt.labels.begin())], 200);
  };
  if (missing != attempt.labels.end())
    input_error(
        "{} has no label for {} of the {} pictures of {}, by name or content, first {}; give the labels of the "
        "same pictures",
        labels_path, thousands(std::count(missing, attempt.labels.end(), kMissing)),
        thousands(static_cast<int64_t>(wanted.names.size())), wanted.path, name_at(missing));
  const auto ambiguous = std::find(attempt.labels.begin(), attempt.labels.end(), kAmbiguous);
  const auto [one, other] = attempt.conflict;
  input_error("{} has several labels for {} of {}{}; give each picture one label", labels_path, name_at(ambiguous),
              wanted.path,
              one < 0 ? ""
                      : fmt::format(", such as {} and {}", labels.classes[static_cast<size_t>(one)],
                                    labels.classes[static_cast<size_t>(other)]));
}

}  // namespace

MatchedLabels match_labels(const PicturesToLabel& wanted, const LabelledImages& labelled,
                           const std::string& labels_path) {
  TRIBUTARY_CHECK(!wanted.names.empty() && labelled.images.size() > 0, "{} or {} is empty", wanted.path, labels_path);
  const std::vector<std::string>& names = labelled.images.names;
  const std::vector<int64_t>& labels = labelled.labels.values;
  const auto matched = [&](Attempt&& attempt, LabelMatch by) {
    return MatchedLabels{{labelled.labels.classes, std::move(attempt.labels)}, by};
  };
  if (names == wanted.names) return {labelled.labels, LabelMatch::kSameNames};
  Attempt attempt = look_up(wanted.names, names, labels, /*unique=*/false);
  if (attempt.complete()) return matched(std::move(attempt), LabelMatch::kSameNames);
  if (std::count(attempt.labels.begin(), attempt.labels.end(), kMissing) == 0)
    refuse(wanted, labelled.labels, attempt, labels_path);
  if (const ImageSet* const pictures = wanted.pictures ? wanted.pictures() : nullptr) {
    attempt = by_content(*pictures, labelled);
    if (attempt.complete()) return matched(std::move(attempt), LabelMatch::kContent);
  }
  if (!are_positions(wanted.names) && !are_positions(names)) {
    Attempt by_path = look_up(below_common_folder(wanted.names), below_common_folder(names), labels, /*unique=*/true);
    if (by_path.complete()) return matched(std::move(by_path), LabelMatch::kFileNames);
    Attempt by_file = look_up(file_names(wanted.names), file_names(names), labels, /*unique=*/true);
    if (by_file.complete()) return matched(std::move(by_file), LabelMatch::kFileNames);
  }
  refuse(wanted, labelled.labels, attempt, labels_path);
}

}  // namespace tributary
