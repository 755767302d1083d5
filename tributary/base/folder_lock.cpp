#include "tributary/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tributary/base/error.h"

namespace tributary {

FolderLock::FolderLock(const std::string& folder, std::chrono::milliseconds patience)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) input_error("cannot open the folder {}; check the path and its permissions", folder);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    // Some network file systems do not support locks.
    if (errno != EWOULDBLOCK) return;
    if (std::chrono::steady_clock::now() > end) {
      ::close(descriptor_);
      input_error("{} is in use by another process; wait for it to exit, or choose another folder", folder);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool FolderLock::holds(const std::string& folder) const {
  struct stat locked {}, named {};
  return ::fstat(descriptor_, &locked) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace tributary
