// Fuzzes the reader of PyTorch files (io/pytorch_file.h), zip and legacy format.
//
// Zip checksums reject most mutated pickles here; pickle.cpp fuzzes them directly.
#include "fuzz/input.h"
#include "tributary/io/pytorch_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject([&] {
    const PytorchFile file = PytorchFile::parse({data, data + size}, "input");
    size_t bytes = 0;  // reads all data, for the address sanitiser
    for (const TensorEntry& entry : file.entries())
      for (const uint8_t byte : entry.data) bytes += byte != 0;
    fuzz::require(bytes <= size * (file.entries().size() + 1), "more bytes than the file has");
  });
  return 0;
}
