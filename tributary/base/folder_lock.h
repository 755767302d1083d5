// One process at a time in a folder: two that keep their state in the same files would spoil both.
#pragma once

#include <chrono>
#include <string>

namespace tributary {

class FolderLock {
 public:
  // Takes the folder, which must exist, until this goes away or the process ends, however it ends. An InputError if
  // another process has it and keeps it for longer than `patience`, in which an interrupted program ends.
  explicit FolderLock(const std::string& folder, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tributary
