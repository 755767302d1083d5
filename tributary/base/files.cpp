#include "tributary/base/files.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG)
    work_error("cannot write {}: {}; free some space and run the same command again", path, reason(error));
  input_error("cannot write {}: {}; choose another path", path, reason(error));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // Some file systems report a failed write only here. Returns 0 or the error.
  int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_;
};

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

constexpr std::string_view kTemporary = ".tributary-";  // followed by the process ID

// The folders in which this process has made temporary files.
class WrittenFolders {
 public:
  void add(const std::string& folder) {
    std::error_code error;
    const fs::path whole = fs::absolute(folder, error);
    const std::lock_guard<std::mutex> lock(mutex_);
    folders_.insert(error ? folder : whole.lexically_normal().string());
  }
  std::set<std::string> all() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return folders_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> folders_;
};
WrittenFolders& written_folders() {
  static WrittenFolders folders;
  return folders;
}

// A path for a temporary file or folder of this process in `folder`. The name does not contain the final one, which may
// be as long as the system allows.
std::string temporary_path(const std::string& folder) {
  static std::atomic<uint64_t> counter{0};
  written_folders().add(folder);
  return fmt::format("{}/{}{}-{}.tmp", folder, kTemporary, ::getpid(), counter++);
}

// Locks a new temporary file or folder until it is closed. False if another process has taken it for a leftover and
// removes it. Some network file systems do not support locks.
bool lock_temporary(int descriptor, const std::string& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 || errno != ENOENT;
}

// Creates and locks a temporary file in `folder`. Skips those of another process with our process ID.
int create_temporary(const std::string& folder, std::string& path) {
  for (;;) {
    path = temporary_path(folder);
    const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number < 0 && errno == EEXIST) continue;
    if (number < 0 || lock_temporary(number, path)) return number;
    ::close(number);
  }
}

using Clock = std::chrono::steady_clock;

// Waits for processes that have just released their locks and may be about to exit.
constexpr auto kExitPatience = std::chrono::milliseconds(100);

// Whether the process still runs at `end`. Zombies do not count: poll() on their pidfd returns at once.
bool is_running(int process, Clock::time_point end) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return false;
  const Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!pidfd.is_open()) return errno != ESRCH;  // kernel without pidfd
  pollfd ended{pidfd.get(), POLLIN, 0};
  int found = 0;
  do {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    found = ::poll(&ended, 1, static_cast<int>(std::max<int64_t>(rest.count(), 0)));
  } while (found < 0 && errno == EINTR);
  return found <= 0;
}

enum class LockState { kFree, kHeld, kUnknown };

// Whether a process has locked the temporary file or folder. Keeps a free one locked until `file` is closed.
LockState lock_state(const Descriptor& file) {
  if (!file.is_open()) return LockState::kUnknown;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return LockState::kFree;
  return errno == EWOULDBLOCK ? LockState::kHeld : LockState::kUnknown;
}

void remove_leftovers_until(const std::string& folder, Clock::time_point end) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), done; !error && it != done; it.increment(error)) {
    const std::string path = it->path().string(), name = it->path().filename().string();
    if (!is_temporary_name(name)) continue;
    const int owner = std::atoi(name.c_str() + kTemporary.size());
    const bool ours = owner == ::getpid();  // or of an earlier process in a container, where they begin with 1
    if (owner <= 0 || (!ours && is_running(owner, end))) continue;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const LockState state = lock_state(file);
    if (state == LockState::kHeld || (ours && state != LockState::kFree)) continue;
    remove_folder(path);
  }
}

void write_all(int descriptor, std::span<const uint8_t> rest, const std::string& path) {
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(path, errno);
    rest = rest.subspan(static_cast<size_t>(written));
  }
}

void write_directly(const std::string& path, std::span<const std::span<const uint8_t>> chunks) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) cannot_write(path, errno);
  for (const auto& chunk : chunks) write_all(file.get(), chunk, path);
  if (const int error = file.close()) cannot_write(path, error);
}

template <typename Bytes>
Bytes read_whole(const std::string& path, int64_t most_bytes = INT64_MAX) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // does not wait for a FIFO's writer
  if (!file.is_open() && errno == ENOENT) missing_file_error("{}: no such file; check the path", path);
  if (!file.is_open()) input_error("cannot read {}: {}; check the path and its permissions", path, reason(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) input_error("cannot read {}: {}; check the path", path, reason(errno));
  if (S_ISDIR(about.st_mode)) input_error("{} is a folder, not a file; name a file in it", path);
  if (!S_ISREG(about.st_mode)) input_error("{} is a device or a pipe; name a regular file", path);

  if (about.st_size > most_bytes)
    input_error("{} has {} bytes, and at most {} are allowed; check the file", path, about.st_size, most_bytes);

  // One byte more than the file's size, so that read() reports the end of the file without growing the buffer.
  Bytes bytes(static_cast<size_t>(about.st_size) + 1, {});
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) input_error("cannot read {}: {}; check the disk or copy the file again", path, reason(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

std::vector<uint8_t> read_file(const std::string& path) {
  return read_whole<std::vector<uint8_t>>(path);
}

std::string read_text(const std::string& path) {
  return read_whole<std::string>(path);
}

std::string read_text(const std::string& path, int64_t most_bytes) {
  return read_whole<std::string>(path, most_bytes);
}

std::ifstream open_regular(const std::string& path) {
  std::ifstream file;
  if (is_regular_file_at(path))
    file.open(path, std::ios::binary);
  else
    file.setstate(std::ios::failbit);
  return file;
}

PendingFile::PendingFile(const std::string& path)
    : path_(path), descriptor_(create_temporary(folder_of(path), temporary_)) {
  if (descriptor_ >= 0) return;
  temporary_.clear();
  cannot_write(path, errno);
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      finished_(other.finished_) {}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void PendingFile::append(std::span<const uint8_t> bytes) {
  write_all(descriptor_, bytes, path_);
}

void PendingFile::finish() {
  if (finished_) return;
  if (::fsync(descriptor_) != 0) cannot_write(path_, errno);
  // Closes a copy, to see the errors of closing before the rename; the descriptor itself holds the lock until then.
  Descriptor copy(::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  const int error = copy.is_open() ? copy.close() : 0;
  if (error != 0) cannot_write(path_, error);
  finished_ = true;
}

void PendingFile::commit() {
  finish();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
  temporary_.clear();
  ::close(std::exchange(descriptor_, -1));
  // Makes the rename durable. Some network file systems cannot fsync a folder (EINVAL); the rename has succeeded there
  // nevertheless.
  const Descriptor parent(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.is_open() && ::fsync(parent.get()) != 0 && errno != EINVAL) cannot_write(path_, errno);
}

void write_file_atomically(const std::string& path, std::span<const std::span<const uint8_t>> chunks) {
  struct stat about {};
  const bool replaces = ::stat(path.c_str(), &about) == 0;
  if (replaces && S_ISDIR(about.st_mode)) cannot_write(path, EISDIR);
  if (replaces && !S_ISREG(about.st_mode)) return write_directly(path, chunks);

  std::error_code broken;
  const fs::path real = fs::canonical(path, broken);
  PendingFile file(replaces && !broken ? real.string() : path);
  if (replaces && ::fchmod(file.descriptor_, about.st_mode & 0777) != 0) cannot_write(path, errno);
  for (const auto& chunk : chunks) file.append(chunk);
  file.commit();
}

void write_file_atomically(const std::string& path, std::span<const uint8_t> bytes) {
  write_file_atomically(path, std::span<const std::span<const uint8_t>>(&bytes, 1));
}

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, bytes_of(text));
}

int make_temporary_folder(const std::string& folder, std::string& path) {
  make_folder(folder);
  for (;;) {
    path = temporary_path(folder);
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      cannot_write(path, errno);
    }
    const int number = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (number >= 0 && lock_temporary(number, path)) return number;
    if (number < 0 && errno != ENOENT) cannot_write(path, errno);
    if (number >= 0) ::close(number);
  }
}

bool is_regular_file_at(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with(kTemporary) && name.ends_with(".tmp");
}

void remove_leftovers(const std::string& folder) {
  remove_leftovers_until(folder, Clock::now() + kExitPatience);
}

void remove_leftovers_below(const std::string& folder) {
  std::error_code unknown;  // another process may remove a folder meanwhile
  if (!fs::is_directory(fs::symlink_status(folder, unknown))) return;
  const Clock::time_point end = Clock::now() + kExitPatience;
  std::vector<std::string> waiting{folder};
  while (!waiting.empty()) {
    const std::string next = std::move(waiting.back());
    waiting.pop_back();
    remove_leftovers_until(next, end);
    std::error_code error;
    for (fs::directory_iterator it(next, error), done; !error && it != done; it.increment(error))
      if (fs::is_directory(it->symlink_status(unknown))) waiting.push_back(it->path().string());
  }
}

void remove_leftovers_where_written() {
  const Clock::time_point end = Clock::now() + kExitPatience;
  for (const std::string& folder : written_folders().all()) remove_leftovers_until(folder, end);
}

// Does not use std::filesystem::remove_all: Torch's wheels export their own copy, which crashes in our process.
void remove_folder(const std::string& path) {
  const auto remove_one = [](const char* name, const struct stat*, int, struct FTW*) { return ::remove(name); };
  ::nftw(path.c_str(), remove_one, /*open folders*/ 16, FTW_DEPTH | FTW_PHYS);
}

void refuse_link(const std::string& path) {
  std::error_code error;
  if (fs::is_symlink(path, error))
    input_error("{} is a link, and a run writes and deletes files in its own folder only; remove the link", path);
  if (fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error))
    input_error("{} is a device or a pipe; remove it", path);
}

void refuse_links_below(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    refuse_link(it->path().string());
}

void remove_own_files(const std::string& folder, const std::function<bool(const std::string&)>& is_own) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open()) return;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_own(it->path().filename().string())) names.push_back(it->path().filename().string());
  for (const std::string& name : names) ::unlinkat(opened.get(), name.c_str(), 0);
  ::rmdir(folder.c_str());
}

void make_folder(const std::string& path) {
  if (path.empty()) input_error("the name of the folder to create is empty; name one");
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unknown;  // another process may have removed it by now
  const fs::file_type made = fs::status(path, unknown).type();
  if (!error && made != fs::file_type::directory && made != fs::file_type::not_found)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error.value() == ENOSPC || error.value() == EDQUOT) cannot_write(path, error.value());
  if (error) input_error("cannot create the folder {}: {}; choose another path", path, error.message());
}

void require_writable_target(const std::string& path) {
  if (path.empty()) input_error("the path to write to is empty; name a file or folder");
  struct stat about {};
  std::string folder;  // the existing folder that would hold the new entry
  if (::stat(path.c_str(), &about) == 0) {
    if (!S_ISDIR(about.st_mode) && ::access(path.c_str(), W_OK) != 0) cannot_write(path, errno);
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) return;
    std::error_code broken;
    const fs::path real = fs::canonical(path, broken);
    folder = S_ISDIR(about.st_mode) ? path : folder_of(broken ? path : real.string());
  } else {
    if (errno != ENOENT) cannot_write(path, errno);
    fs::path missing = fs::path(path).lexically_normal();
    if (!missing.has_filename()) missing = missing.parent_path();
    for (folder = folder_of(missing.string()); ::stat(folder.c_str(), &about) != 0;) {
      if (errno != ENOENT) cannot_write(path, errno);
      missing = folder;
      folder = folder_of(missing.string());
    }
    if (!S_ISDIR(about.st_mode)) cannot_write(path, ENOTDIR);
  }
  // Probes with a temporary name: a process killed here must not leave a file at `path`.
  remove_leftovers(folder);
  std::string name;
  const Descriptor probe(create_temporary(folder, name));
  if (!probe.is_open()) cannot_write(path, errno);
  ::unlink(name.c_str());
}

void require_writable_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) cannot_write(path, EISDIR);
  require_writable_target(path);
}

}  // namespace tributary
