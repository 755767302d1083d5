#include "tributary/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {

FolderLock::FolderLock(const std::string& folder, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    make_folder(folder);
    descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool missing = descriptor_ < 0 && errno == ENOENT;
    if (descriptor_ < 0 && !missing)
      input_error("cannot open the folder {}; check the path and its permissions", folder);
    if (!missing) {
      // Some network file systems do not support locks.
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 ? errno != EWOULDBLOCK : holds(folder)) return;
      ::close(descriptor_);
    }
    // Another process holds the lock, or has just removed the folder.
    if (std::chrono::steady_clock::now() > end)
      input_error("{} is in use by another process; wait for it to exit, or choose another folder", folder);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool FolderLock::holds(const std::string& folder) const {
  struct stat locked = {}, named = {};
  return ::fstat(descriptor_, &locked) == 0 && ::stat(folder.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
         locked.st_dev == named.st_dev;
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace tributary
