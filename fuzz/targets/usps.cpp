// Fuzzes USPS text, plain and gzipped (data/digits/usps_text.h).
#include "fuzz/input.h"
#include "tributary/data/digits/usps_text.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("digits", fuzz::text_of(data, size));
  is_usps_text(path);
  fuzz::read_or_reject([&] {
    const UspsText digits = read_usps_text(path);
    fuzz::require(digits.images.bytes.size() == digits.labels.size() * 256, "different numbers of labels and pictures");
  });
  return 0;
}
