// Fuzzes .mat files: arrays (data/digits/mat_file.h), pictures and labels in all layouts (data/digits/mat_digits.h).
#include "fuzz/input.h"
#include "tributary/data/digits/mat_digits.h"
#include "tributary/data/digits/mat_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("input.mat", fuzz::text_of(data, size));
  fuzz::read_or_reject([&] {
    MatFile file(path);
    for (const std::string& name : file.names())
      for (const int64_t cell : {-1, 0, 3})
        fuzz::read_or_reject([&] {
          const MatKey key{name, cell};
          fuzz::require(file.outline(key).sizes == file.read(key).sizes, "an array with two different sizes");
        });
  });
  for (const char* part : {"", ":train", ":test"}) {
    fuzz::read_or_reject([&] {
      const PackedImages images = read_mat_images(path + part);
      fuzz::require(
          static_cast<int64_t>(images.bytes.size()) == images.count * images.height * images.width * images.channels,
          "pictures of a wrong size");
    });
    fuzz::read_or_reject([&] { read_mat_labels(path + part); });
  }
  return 0;
}
