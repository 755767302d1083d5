// An exclusive lock on a folder, so that two processes never write the same run.
#pragma once

#include <chrono>
#include <string>

namespace tributary {

class FolderLock {
 public:
  // Locks the folder until destruction or the end of the process. Makes it if it is missing, also if the process that
  // held the lock has removed it. Throws an InputError if another process holds the lock for longer than `patience`;
  // the default leaves an interrupted process the time to exit.
  explicit FolderLock(const std::string& folder, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Whether `folder`, by its path, is still the folder that was locked.
  bool holds(const std::string& folder) const;

 private:
  int descriptor_ = -1;
};

}  // namespace tributary
