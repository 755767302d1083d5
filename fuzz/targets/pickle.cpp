// Fuzzes the unpickler (io/unpickler.h), alone and within a PyTorch file (io/pytorch_file.h).
//
// The input becomes data.pkl of a valid zip archive with two storages of 96 bytes, "0" and "1". This way, it reaches
// the search for the state dictionary and the validation of tensors; the fuzzer itself cannot fix the checksums of a
// zip.
#include <zlib.h>

#include "fuzz/input.h"
#include "tributary/base/little_endian.h"
#include "tributary/io/pytorch_file.h"
#include "tributary/io/unpickler.h"

using namespace tributary;

namespace {

// A zip archive of uncompressed entries.
class Zip {
 public:
  void add(const std::string& name, std::string_view content) {
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
    const std::string header = little_endian(20, 2) + std::string(8, '\0') + little_endian(crc, 4) +
                               little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                               little_endian(name.size(), 2) + little_endian(0, 2);
    directory_ +=
        "PK\x01\x02" + little_endian(20, 2) + header + std::string(10, '\0') + little_endian(entries_.size(), 4) + name;
    entries_ += "PK\x03\x04" + header + name;
    entries_ += content;
    ++count_;
  }

  std::vector<uint8_t> bytes() const {
    const std::string all = entries_ + directory_ + "PK\x05\x06" + std::string(4, '\0') + little_endian(count_, 2) +
                            little_endian(count_, 2) + little_endian(directory_.size(), 4) +
                            little_endian(entries_.size(), 4) + std::string(2, '\0');
    return {all.begin(), all.end()};
  }

 private:
  std::string entries_;
  std::string directory_;
  uint64_t count_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::read_or_reject([&] {
    const Pickle pickle = Pickle::read({data, size}, "input");
    fuzz::require(pickle.size() <= size, "a pickle longer than its input");
    pickle.root().find("state_dict");
  });
  Zip zip;
  zip.add("archive/data.pkl", fuzz::text_of(data, size));
  for (const char* storage : {"archive/data/0", "archive/data/1"}) zip.add(storage, std::string(96, 'x'));
  fuzz::read_or_reject([&] {
    const PytorchFile file = PytorchFile::parse(zip.bytes(), "input");
    for (const TensorEntry& entry : file.entries())
      for (const uint8_t byte : entry.data) fuzz::require(byte == 'x', "tensor data outside of the storages");
  });
  return 0;
}
