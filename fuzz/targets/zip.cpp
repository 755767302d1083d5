// Fuzzes the reader of zip archives (io/zip_reader.h).
#include "fuzz/input.h"
#include "tributary/io/zip_reader.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject([&] {
    const ZipReader zip({data, size}, "input");
    for (const ZipEntry& entry : zip.entries()) {
      fuzz::require(zip.find(entry.name) == &entry, "an entry that is not found by its name");
      fuzz::read_or_reject([&] { zip.content(entry); });
    }
  });
  return 0;
}
