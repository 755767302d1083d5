// Several files that belong together and appear together.
//
// They are written into a folder beside the new one, which then becomes it. If that is already there, it may be a disk
// of its own, so it is a folder in it, out of which they are moved one after the other. Whatever happens before leaves
// nothing, and what a killed process left is removed by the next (files.h, remove_leftovers).
#pragma once

#include <string>
#include <vector>

namespace tributary {

// The path from the root on, without a slash at its end.
std::string absolute_path(const std::string& path);

// Whether the folder is there and has nothing in it but what a process that writes, or was killed while it wrote, has
// under a temporary name.
bool is_empty_folder(const std::string& path);

class StagedFolder {
 public:
  // `folder` is new or empty.
  explicit StagedFolder(const std::string& folder);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  // Where to write.
  const std::string& path() const { return path_; }

  // Puts the files `names`, which are all that was written, in their place.
  void place(const std::vector<std::string>& names);

 private:
  std::string folder_;
  bool exists_;
  std::string home_;               // what the path to write to is in
  std::vector<std::string> made_;  // folders above that were not there, the deepest first
  std::string path_;
};

}  // namespace tributary
