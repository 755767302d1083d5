#include "tributary/train/feature_storage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/memory.h"
#include "tributary/device/device.h"

namespace tributary {
namespace {

// An open file without a name.
class NamelessFile {
 public:
  explicit NamelessFile(const std::string& folder) {
    std::string pattern = folder + "/tributary-features-XXXXXX";
    descriptor_ = mkostemp(pattern.data(), O_CLOEXEC);
    if (descriptor_ < 0)
      work_error("{}: cannot create a temporary file for features ({}); set TMPDIR to another folder", folder,
                 std::strerror(errno));
    unlink(pattern.c_str());
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  ~NamelessFile() { close(descriptor_); }

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

int64_t feature_budget(int64_t given, torch::Device device) {
  if (given >= 0) return given;
  return (device.is_cpu() ? available_memory() : free_memory(device)) / 2;
}

FeatureKind feature_kind(int64_t rows, int64_t joint_width, int64_t budget) {
  const int64_t numbers = rows * joint_width;
  if (numbers <= budget / 4) return FeatureKind::kFloat;
  return numbers <= budget / 2 ? FeatureKind::kHalf : FeatureKind::kMapped;
}

std::string folder_for_features() {
  const char* chosen = std::getenv("TMPDIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

Tensor mapped_rows(int64_t rows, int64_t width, const std::string& folder) {
  const auto bytes = static_cast<size_t>(rows * width) * sizeof(float);
  if (bytes == 0) return torch::empty({rows, width}, torch::kFloat32);
  const NamelessFile file(folder);
  // Allocate blocks now: with a sparse file, a full disk would kill the program by SIGBUS.
  if (const int error = posix_fallocate(file.descriptor(), 0, static_cast<off_t>(bytes)); error != 0)
    work_error(
        "{}: no space for {:.1f} MiB of features ({}); set TMPDIR to a folder with more space, or raise "
        "--feature-memory",
        folder, static_cast<double>(bytes) / (1 << 20), std::strerror(error));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    work_error("{}: {:.1f} MiB of features cannot be mapped into memory ({}); raise --feature-memory", folder,
               static_cast<double>(bytes) / (1 << 20), std::strerror(errno));
  return torch::from_blob(
      memory, {rows, width}, [bytes](void* mapped) { munmap(mapped, bytes); }, torch::kFloat32);
}

FeatureStorage::FeatureStorage(FeatureKind kind, int64_t rows, int64_t width, torch::Device device)
    : rows_(kind == FeatureKind::kMapped
                ? mapped_rows(rows, width, folder_for_features())
                : torch::empty({rows, width}, at::device(device).dtype(
                                                  kind == FeatureKind::kFloat ? torch::kFloat32 : torch::kBFloat16))) {}

void FeatureStorage::append(const Tensor& features) {
  rows_.narrow(0, filled_, features.size(0)).copy_(features);
  filled_ += features.size(0);
}

Tensor FeatureStorage::all() const {
  TRIBUTARY_CHECK(filled_ == rows_.size(0), "{} of {} rows", filled_, rows_.size(0));
  return rows_;
}

}  // namespace tributary
