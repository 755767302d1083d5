// Any bytes as an IDX file, plain or gzipped, to the readers of pictures and labels (data/digits/idx.h,
// data/archive/gzip_file.h). They refuse with InputErrors.
#include "tributary/data/digits/idx.h"
#include "fuzz/input.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("input-images.idx", fuzz::text_of(data, size));
  is_idx_file(path);
  fuzz::read_or_refuse([&] {
    const PackedImages images = read_idx_images(path);
    fuzz::require(
        static_cast<int64_t>(images.bytes.size()) == images.count * images.height * images.width * images.channels,
        "pictures that are not as large as they say");
  });
  fuzz::read_or_refuse([&] { read_idx_labels(path); });
  return 0;
}
