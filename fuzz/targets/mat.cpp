// Any bytes as a .mat file: its list of arrays (data/digits/mat_file.h), and pictures and labels in each of the forms
// that digits come in (data/digits/mat_digits.h). All refuse with InputErrors.
#include "fuzz/input.h"
#include "tributary/data/digits/mat_digits.h"
#include "tributary/data/digits/mat_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("input.mat", fuzz::text_of(data, size));
  fuzz::read_or_refuse([&] {
    MatFile file(path);
    for (const std::string& name : file.names())
      for (const int64_t cell : {-1, 0, 3})
        fuzz::read_or_refuse([&] {
          const MatKey key{name, cell};
          fuzz::require(file.outline(key).sizes == file.read(key).sizes, "an array of two sizes");
        });
  });
  for (const char* part : {"", ":train", ":test"}) {
    fuzz::read_or_refuse([&] {
      const PackedImages images = read_mat_images(path + part);
      fuzz::require(
          static_cast<int64_t>(images.bytes.size()) == images.count * images.height * images.width * images.channels,
          "pictures that are not as large as they say");
    });
    fuzz::read_or_refuse([&] { read_mat_labels(path + part); });
  }
  return 0;
}
