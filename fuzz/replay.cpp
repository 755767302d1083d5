// Runs every target on every file of fuzz/corpus/, as a regression test with any compiler.
//
// A valid file for one reader is an invalid one for the others. Targets that run the whole program take too long for
// that (TRIBUTARY_OWN_CORPUS).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tributary/base/files.h"
#include "tributary/base/memory.h"

#define TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
#include "targets.inc"
#undef TARGET

namespace tributary {
namespace {

void replay(const std::string& name, int (*run)(const uint8_t*, size_t)) {
  std::vector<std::string> files;
  const std::string corpus = TRIBUTARY_SOURCE_DIR "/fuzz/corpus";
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TRIBUTARY_OWN_CORPUS ? corpus + "/" + name : corpus))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  const int64_t before = peak_memory();
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::vector<uint8_t> bytes = read_file(file);
    EXPECT_NO_THROW(run(bytes.data(), bytes.size()));
  }
  // No file of the corpus is larger than a few kilobytes. A JPEG may need 192 MB until it turns out to be truncated.
  constexpr int64_t kMost = int64_t{400} << 20;
  EXPECT_LT(peak_memory() - before, kMost) << "memory that no file accounts for";
}

#define TARGET(name)       \
  TEST(FuzzCorpus, name) { \
    replay(#name, fuzz_##name); \
  }
#include "targets.inc"
#undef TARGET

}  // namespace
}  // namespace tributary
