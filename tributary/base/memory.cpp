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

// The number in a file, where there is one.
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

// What is left of the container's limit; files that are only cached can be given up.
std::optional<int64_t> left_in_container() {
  const std::string second = "/sys/fs/cgroup/", first = "/sys/fs/cgroup/memory/";  // versions of control groups
  if (const auto limit = number_in(second + "memory.max"))
    if (const auto used = number_in(second + "memory.current"))
      return *limit - *used + value_in(second + "memory.stat", "inactive_file").value_or(0);
  if (const auto limit = number_in(first + "memory.limit_in_bytes"))
    if (const auto used = number_in(first + "memory.usage_in_bytes"))
      return *limit - *used + value_in(first + "memory.stat", "total_inactive_file").value_or(0);
  return std::nullopt;
}

}  // namespace

void require_memory(int64_t available) {
  constexpr int64_t kReserve = int64_t{192} << 20;
  if (available < kReserve)
    throw MemoryError(fmt::format(
        "only {} MiB of memory are left, and the kernel would soon end the program; use a smaller --batch, fewer "
        "sources or less --memory for pictures, and run again",
        available >> 20));
}

int64_t available_memory() {
  const auto machine = value_in("/proc/meminfo", "MemAvailable:");
  const int64_t known = machine ? *machine * 1024 : static_cast<int64_t>(4 * kGibibyte);
  return std::min(known, left_in_container().value_or(known));
}

int64_t peak_memory() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace tributary
