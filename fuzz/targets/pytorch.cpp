// Any bytes to the reader of PyTorch checkpoints (io/pytorch_file.h), either format; an InputError refuses what is
// none. The checksums of zip entries keep changed pickles out here: pickle.cpp hands them in.
#include "fuzz/input.h"
#include "tributary/io/pytorch_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_refuse([&] {
    const PytorchFile file = PytorchFile::parse({data, data + size}, "input");
    size_t bytes = 0;  // all of them are there to be read
    for (const TensorEntry& entry : file.entries())
      for (const uint8_t byte : entry.data) bytes += byte != 0;
    fuzz::require(bytes <= size * (file.entries().size() + 1), "more bytes than the file has");
  });
  return 0;
}
