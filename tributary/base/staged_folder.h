// Writes several files that appear in a folder together.
//
// The files are written to a temporary folder next to the new one, which is then renamed. An existing folder may be a
// mount point; the temporary folder is then created inside it, and the files are moved one by one. Nothing is left
// after an exception; leftovers of a killed process are removed by others (`remove_leftovers` in files.h).
#pragma once

#include <string>
#include <vector>

namespace tributary {

// The normalised absolute path, without a trailing slash.
std::string absolute_path(const std::string& path);

// Whether the folder exists and contains nothing but temporary files.
bool is_empty_folder(const std::string& path);

class StagedFolder {
 public:
  // `folder` must not exist or be empty.
  explicit StagedFolder(const std::string& folder);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  // The temporary folder to write to.
  const std::string& path() const { return path_; }

  // Moves the files to the final folder. `names` lists all files that were written.
  void commit(const std::vector<std::string>& names);

 private:
  std::string folder_;
  bool exists_;
  std::string home_;               // parent of `path_`
  std::vector<std::string> made_;  // parent folders that did not exist, deepest first
  std::string path_;
  int descriptor_ = -1;  // holds the lock of `path_`, until it is committed
};

}  // namespace tributary
