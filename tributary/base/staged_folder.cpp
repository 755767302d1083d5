#include "tributary/base/staged_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

void move_to(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return;
  input_error("cannot write {}: {}; choose another path", to,
              std::error_code(errno, std::generic_category()).message());
}

// Makes the renames durable, where the file system supports it.
void sync(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

std::string absolute_path(const std::string& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).string();
}

bool is_empty_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (!is_temporary_name(entry.path().filename().string())) return false;
  return !error;
}

StagedFolder::StagedFolder(const std::string& folder)
    : folder_(absolute_path(folder)),
      exists_(fs::exists(folder_)),
      home_(exists_ ? folder_ : fs::path(folder_).parent_path().string()) {
  for (fs::path missing = home_; !fs::exists(missing); missing = missing.parent_path())
    made_.push_back(missing.string());
  descriptor_ = make_temporary_folder(home_, path_);
}

StagedFolder::~StagedFolder() {
  remove_folder(path_);
  if (descriptor_ >= 0) ::close(descriptor_);
  for (const std::string& path : made_) ::rmdir(path.c_str());
}

void StagedFolder::commit(const std::vector<std::string>& names) {
  if (exists_) {
    for (const std::string& name : names) move_to(path_ + "/" + name, folder_ + "/" + name);
  } else {
    move_to(path_, folder_);
  }
  made_.clear();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  sync(home_);
}

}  // namespace tributary
