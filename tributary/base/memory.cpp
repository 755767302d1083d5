#include "tributary/base/memory.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "tributary/base/error.h"

namespace tributary {

namespace {

// The number at the start of a file, if there is one.
std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The value after `wanted` in a file of "key value" lines.
std::optional<int64_t> value_in(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string key;
  int64_t value = 0;
  while (file >> key >> value) {
    if (key == wanted) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// The rest of the container's limit. The kernel can reclaim the inactive page cache.
std::optional<int64_t> left_in_container() {
  const std::string v2 = "/sys/fs/cgroup/", v1 = "/sys/fs/cgroup/memory/";  // cgroup versions
  if (const auto limit = number_in(v2 + "memory.max"))
    if (const auto used = number_in(v2 + "memory.current"))
      return *limit - *used + value_in(v2 + "memory.stat", "inactive_file").value_or(0);
  if (const auto limit = number_in(v1 + "memory.limit_in_bytes"))
    if (const auto used = number_in(v1 + "memory.usage_in_bytes"))
      return *limit - *used + value_in(v1 + "memory.stat", "total_inactive_file").value_or(0);
  return std::nullopt;
}

}  // namespace

void require_memory(int64_t available) {
  constexpr int64_t kReserve = int64_t{192} << 20;
  if (available < kReserve)
    throw MemoryError(
        fmt::format("out of memory: only {} MiB are left; run again with a smaller --batch, fewer sources or a smaller "
                    "--memory for "
                    "pictures",
                    available >> 20));
}

int64_t available_memory() {
  const auto machine = value_in("/proc/meminfo", "MemAvailable:");
  const int64_t known = machine ? *machine * 1024 : static_cast<int64_t>(4 * kGibibyte);
  return std::min(known, left_in_container().value_or(known));
}

void require_files() {
  constexpr rlim_t kFiles = 64, kEnoughFiles = 4096;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < kEnoughFiles) {
    files.rlim_cur = std::min(files.rlim_max, kEnoughFiles);
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < kFiles)
      input_error("this process may open only {} files; allow at least {} (ulimit -n)", files.rlim_cur, kFiles);
  }
}

void require_memory_for_processes(int64_t processes) {
  constexpr int64_t kEach = int64_t{256} << 20;  // the libraries alone
  const int64_t available = available_memory();
  if (processes > available / kEach)
    input_error("--processes {} needs at least {:.1f} GiB of memory, and {:.1f} GiB are free; start fewer", processes,
                static_cast<double>(processes * kEach) / kGibibyte, static_cast<double>(available) / kGibibyte);
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // glibc's maximum
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace tributary
