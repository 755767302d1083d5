#include "tributary/benchmarks/digit_files.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/digits/packed_file.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// File names of a domain as distributed; {} is the part.
std::vector<std::string> distributed_names(const Domain& domain, const std::string& part) {
  static const std::map<std::string, std::vector<const char*>> kNames = {
      {"mnist", {"mnist_data.mat:{}"}},
      {"svhn", {"{}_32x32.mat", "svhn_{}_32x32.mat"}},
      {"usps", {"usps_28x28.mat:{}", "zip.{}.gz", "zip.{}"}},
      {"mnist_m", {"mnistm_with_label.mat:{}", "mnist_m_{}_labels.txt"}},
      {"syn", {"synth_{}_32x32.mat", "syn_number.mat:{}"}},
  };
  std::vector<std::string> names;
  if (const auto known = kNames.find(domain.name); known != kNames.end())
    for (const char* name : known->second) names.push_back(fmt::format(fmt::runtime(name), part));
  return names;
}

// The images file of an IDX pair in a folder; empty if there is none.
std::string idx_images(const fs::path& folder, const std::string& part) {
  std::vector<std::string> stems = {part + "-images.idx", part + "-images-idx3-ubyte", part + "-images.idx3-ubyte"};
  if (part == "test") stems.insert(stems.end(), {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte"});
  for (const std::string& stem : stems)
    for (const char* ending : {"", ".gz"})
      if (is_regular_file_at(folder / (stem + ending))) return (folder / (stem + ending)).string();
  return {};
}

// A file as it is distributed in a folder; empty if there is none.
std::string distributed_file(const Domain& domain, const fs::path& folder, const std::string& part) {
  for (const std::string& name : distributed_names(domain, part))
    if (is_regular_file_at(folder / file_of(name))) return (folder / name).string();
  return {};
}

std::string names_text(const Domain& domain, const std::string& part) {
  std::vector<std::string> names = distributed_names(domain, part);
  for (std::string& name : names) name = file_of(name);
  return names.empty() ? "" : fmt::format(", nor {}", fmt::join(names, " or "));
}

}  // namespace

DigitFile find_digits(const Domain& domain, const std::string& root, const std::string& folder,
                      const std::string& part) {
  if (!folder.empty()) {
    if (const std::string images = idx_images(folder, part); !images.empty()) {
      try {
        labels_path_for(images);
      } catch (const InputError& error) {
        return {"", error.what()};
      }
      return {images, ""};
    }
    if (const std::string file = distributed_file(domain, folder, part); !file.empty()) return {file, ""};
    std::error_code error;
    if (fs::is_directory(fs::path(folder) / part, error)) return {(fs::path(folder) / part).string(), ""};
  }
  if (const std::string file = distributed_file(domain, root, part); !file.empty()) return {file, ""};
  const std::string nor = names_text(domain, part);
  if (folder.empty()) return {"", fmt::format("no folder {} in {}{}", domain.name, root, nor)};
  return {"", fmt::format("no {}-images.idx in {}{}", part, folder, nor)};
}

}  // namespace tributary
