// Any bytes to the reader of zip archives (io/zip_reader.h) and every entry's content out of it; a damaged archive
// or entry is an InputError.
#include "fuzz/input.h"
#include "tributary/io/zip_reader.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_refuse([&] {
    const ZipReader zip({data, size}, "input");
    for (const ZipEntry& entry : zip.entries()) {
      fuzz::require(zip.find(entry.name) == &entry, "an entry that is not found by its name");
      fuzz::read_or_refuse([&] { zip.content(entry); });
    }
  });
  return 0;
}
