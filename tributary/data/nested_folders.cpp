#include "tributary/data/nested_folders.h"

#include <filesystem>
#include <iterator>
#include <map>
#include <set>

namespace tributary {

std::vector<std::string> shared_folders(const std::string& folder, const std::vector<std::string>& pictures) {
  std::map<std::string, std::set<std::string>> classes_with;  // by the name of a folder inside them
  for (const std::string& picture : pictures) {
    const std::filesystem::path path = std::filesystem::path(picture).lexically_relative(folder);
    if (std::distance(path.begin(), path.end()) < 3) continue;  // CLASS/PICTURE
    classes_with[std::next(path.begin())->string()].insert(path.begin()->string());
  }
  std::vector<std::string> shared;
  for (const auto& [name, classes] : classes_with)
    if (classes.size() > 1) shared.push_back(name);
  if (shared.size() < 2) shared.clear();
  return shared;
}

}  // namespace tributary
