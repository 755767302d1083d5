// Fuzzes NumPy arrays (io/npy_file.h): scores and names.
#include "fuzz/input.h"
#include "tributary/io/npy_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  fuzz::read_or_reject([&] {
    const NpyArray array = parse_npy(bytes, "input");
    fuzz::require(array.count <= size, "more elements than bytes");
    fuzz::require(floats_of(array, "input").size() == array.count, "another number of scores");
  });
  fuzz::read_or_reject([&] {
    const NpyArray array = parse_npy(bytes, "input");
    const std::vector<std::string> texts = texts_of(array, "input");
    fuzz::require(texts.size() == array.count, "another number of names");
    const std::string again = npy_text(texts);
    const std::span<const uint8_t> written(reinterpret_cast<const uint8_t*>(again.data()), again.size());
    fuzz::require(texts_of(parse_npy(written, "again"), "again") == texts, "names that change when they are written");
  });
  return 0;
}
