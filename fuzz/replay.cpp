// Runs every target on every file of fuzz/corpus/, as a regression test with any compiler.
//
// A valid file for one reader is an invalid one for the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tributary/base/files.h"

#define TARGET(name) extern "C" int fuzz_##name(const uint8_t* data, size_t size);
#include "targets.inc"
#undef TARGET

namespace tributary {
namespace {

void replay(int (*run)(const uint8_t*, size_t)) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRIBUTARY_SOURCE_DIR "/fuzz/corpus"))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const std::vector<uint8_t> bytes = read_file(file);
    EXPECT_NO_THROW(run(bytes.data(), bytes.size()));
  }
}

#define TARGET(name)       \
  TEST(FuzzCorpus, name) { \
    replay(fuzz_##name);   \
  }
#include "targets.inc"
#undef TARGET

}  // namespace
}  // namespace tributary
