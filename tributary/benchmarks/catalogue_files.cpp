// Finds the pictures of a benchmark and checks that they are complete.
#include <fmt/ranges.h>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/benchmarks/catalogue.h"
#include "tributary/benchmarks/digit_files.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/archive/shard_paths.h"
#include "tributary/data/digits/packed_file.h"
#include "tributary/data/list_file.h"
#include "tributary/data/listing.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// A domain with fewer pictures than this share of the published number counts as incomplete. USPS is distributed with
// 1,860 and with 2,007 test pictures; both count as complete.
constexpr double kEnough = 0.9;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// "Real World", "real_world" and "RealWorld" are one name.
std::string bare(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      letters += static_cast<char>(c - 'A' + 'a');
    else if (c != ' ' && c != '-' && c != '_')
      letters += c;
  }
  return letters;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  if (error) input_error("{} cannot be read ({}); name a folder that can", folder.string(), error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// The folder of a domain in `root`; empty if there is none.
fs::path folder_of(const Domain& domain, const fs::path& root) {
  const std::vector<fs::path> entries = entries_of(root);
  for (const std::string& name : domain.folders)
    for (const fs::path& entry : entries)
      if (bare(entry.filename().string()) == name && is_folder(entry)) return entry;
  return {};
}

std::string find_list(const fs::path& root, const std::string& name, std::string& path) {
  if (!is_regular_file_at(root / name)) return fmt::format("no list {} in {}", name, root.string());
  path = (root / name).string();
  return {};
}

DomainData locate_paths(const Domain& domain) {
  for (const std::string& path : {domain.train, domain.test})
    if (!is_folder(path) && !is_regular_file_at(file_of(path)) && !is_shards_path(path))
      return {"", "", path + " does not exist"};
  return {domain.train, domain.test, ""};
}

// The pictures and the classes of a training or test part.
struct Part {
  int64_t pictures = 0;
  std::vector<std::string> classes;
  bool named = false;  // classes are folders, else numbers
};

Part read_packed_part(const std::string& path) {
  const int64_t pictures = read_packed_images(path).count;
  const std::vector<uint8_t> labels = read_packed_labels(path, pictures).values;
  return {pictures, numbered_classes(*std::max_element(labels.begin(), labels.end()) + 1)};
}

// Classes of shards count as numbers even if they have names: a test part may lack the pictures of one.
Part read_shards_part(const std::string& path) {
  ShardIndex index = index_labelled_shards(path, {}, /*threads=*/0);
  return {static_cast<int64_t>(index.pictures.size()), std::move(index.classes)};
}

Part read_part(const std::string& path) {
  const PathKind kind = kind_of_path(path);
  if (kind == PathKind::kPacked) return read_packed_part(path);
  if (kind == PathKind::kShards) return read_shards_part(path);
  if (kind == PathKind::kPicture) input_error("{} is a single picture; name a folder of class folders", path);
  const bool named = kind == PathKind::kFolder;
  Listing listing = named ? list_class_folders(path, {}) : list_from_labelled_file(path, "", {});
  return {static_cast<int64_t>(listing.pictures.size()), std::move(listing.classes), named};
}

std::string too_few(int64_t found, int64_t published, const std::string& path) {
  if (static_cast<double>(found) >= kEnough * static_cast<double>(published)) return {};
  return fmt::format("{} of about {} pictures in {}", thousands(found), thousands(published), path);
}

// The first class name that only one of two sets has.
std::string difference(const std::vector<std::string>& classes, const std::vector<std::string>& others) {
  for (const std::string& name : others)
    if (std::find(classes.begin(), classes.end(), name) == classes.end()) return "no class " + printable(name);
  for (const std::string& name : classes)
    if (std::find(others.begin(), others.end(), name) == others.end()) return "an additional class " + printable(name);
  return {};
}

// A test part may lack pictures of a numbered class, but not the folder of a named class.
std::string test_difference(const Part& test, const std::vector<std::string>& classes) {
  if (!test.named && test.classes.size() <= classes.size()) return {};
  return difference(test.classes, classes);
}

DomainCheck check_domain(const Benchmark& benchmark, const Domain& domain, const std::string& root) {
  DomainCheck check{locate(benchmark, domain, root)};
  check.problem = check.data.missing;
  if (!check.problem.empty()) return check;
  try {
    const Part train = read_part(check.data.train);
    const Part test = check.data.test == check.data.train ? train : read_part(check.data.test);
    check.train_pictures = train.pictures;
    check.test_pictures = test.pictures;
    check.classes = train.classes;
    const auto classes = static_cast<int64_t>(train.classes.size());
    if (benchmark.classes > 0 && classes != benchmark.classes)
      check.problem = fmt::format("{} classes in {} instead of {}", classes, check.data.train, benchmark.classes);
    if (const std::string other = test_difference(test, train.classes); check.problem.empty() && !other.empty())
      check.problem = fmt::format("{} in {} beside {}", other, check.data.test, check.data.train);
    if (check.problem.empty()) check.problem = too_few(train.pictures, domain.train_pictures, check.data.train);
    if (check.problem.empty()) check.problem = too_few(test.pictures, domain.test_pictures, check.data.test);
  } catch (const InputError& error) {
    check.problem = error.what();
  }
  return check;
}

}  // namespace

DomainData locate(const Benchmark& benchmark, const Domain& domain, const std::string& root) {
  if (benchmark.layout == Layout::kPaths) return locate_paths(domain);
  if (!is_folder(root)) input_error("{} is not a folder; name the one that holds {}", root, benchmark.title);
  DomainData data;
  const fs::path folder = folder_of(domain, root);
  if (benchmark.layout == Layout::kDigits) {
    const DigitFile train = find_digits(domain, root, folder.string(), "train");
    const DigitFile test = find_digits(domain, root, folder.string(), "test");
    data = {train.path, test.path, train.missing.empty() ? test.missing : train.missing};
  } else if (folder.empty()) {
    data.missing = fmt::format("no folder {} in {}", domain.name, root);
  } else if (benchmark.layout == Layout::kClassFolders) {
    data.train = data.test = (is_folder(folder / "images") ? folder / "images" : folder).string();
  } else {
    data.missing = find_list(root, domain.name + "_train.txt", data.train);
    if (data.missing.empty()) data.missing = find_list(root, domain.name + "_test.txt", data.test);
  }
  if (!data.missing.empty()) data.train.clear(), data.test.clear();
  return data;
}

std::vector<DomainCheck> check_domains(const Benchmark& benchmark, const std::string& root) {
  std::vector<DomainCheck> checks;
  const DomainCheck* first = nullptr;
  checks.reserve(benchmark.domains.size());
  for (const Domain& domain : benchmark.domains) {
    DomainCheck& check = checks.emplace_back(check_domain(benchmark, domain, root));
    if (!check.problem.empty()) continue;
    if (first == nullptr) {
      first = &check;
    } else if (const std::string other = difference(check.classes, first->classes); !other.empty()) {
      check.problem = fmt::format("{} in {} beside {}", other, check.data.train, first->data.train);
    }
  }
  return checks;
}

}  // namespace tributary
