// Fuzzes IDX pictures and labels, plain and gzipped (data/digits/idx.h, data/archive/gzip_file.h).
#include "tributary/data/digits/idx.h"
#include "fuzz/input.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("input-images.idx", fuzz::text_of(data, size));
  is_idx_file(path);
  fuzz::read_or_reject([&] {
    const PackedImages images = read_idx_images(path);
    fuzz::require(
        static_cast<int64_t>(images.bytes.size()) == images.count * images.height * images.width * images.channels,
        "pictures of a wrong size");
  });
  fuzz::read_or_reject([&] { read_idx_labels(path); });
  return 0;
}
