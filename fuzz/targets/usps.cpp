// Any bytes as USPS in text, plain or gzipped (data/digits/usps_text.h). A line that is no picture is an InputError.
#include "fuzz/input.h"
#include "tributary/data/digits/usps_text.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("digits", fuzz::text_of(data, size));
  is_usps_text(path);
  fuzz::read_or_refuse([&] {
    const UspsText digits = read_usps_text(path);
    fuzz::require(digits.images.bytes.size() == digits.labels.size() * 256, "another number of labels than pictures");
  });
  return 0;
}
