// Fuzzes tar archives (data/archive/tar_file.h), shards with labels (data/archive/shard_index.h) and their PPM pictures
// (data/image/decode_ppm.h), with the original and with corrected checksums.
#include "fuzz/input.h"
#include "tributary/data/archive/shard_index.h"
#include "tributary/data/archive/tar_file.h"
#include "tributary/data/archive/tar_header.h"
#include "tributary/data/image/decode_ppm.h"

using namespace tributary;

namespace {

void read_pictures(const ShardIndex& index) {
  fuzz::require(index.names.size() == index.pictures.size(), "different numbers of pictures and names");
  for (size_t i = 0; i < index.pictures.size(); ++i) {
    const std::vector<uint8_t> file = index.read(static_cast<int64_t>(i));
    if (!index.pictures[i].raw) continue;
    fuzz::read_or_reject<PictureError>([&] {
      const Picture picture = decode_ppm(file, {1'000'000});
      fuzz::require(encode_ppm(picture).size() <= file.size(), "more pixels than the file has");
    });
  }
}

// Writes the checksum of a header into every block. Without it, few mutations would get past the first header.
std::string with_checksums(std::string_view bytes) {
  constexpr size_t kBlock = kTarBlock, kChecksum = 148, kDigits = 8;
  std::string result(bytes);
  for (size_t begin = 0; begin + kBlock <= result.size(); begin += kBlock) {
    if (result.find_first_not_of('\0', begin) >= begin + kBlock) continue;
    result.replace(begin + kChecksum, kDigits, kDigits, ' ');
    int64_t sum = 0;
    for (size_t i = begin; i < begin + kBlock; ++i) sum += static_cast<unsigned char>(result[i]);
    result.replace(begin + kChecksum, kDigits, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  }
  return result;
}

void read_archive(const std::string& path) {
  fuzz::read_or_reject([&] {
    const TarFile file(path);
    file.for_each_member([&](const TarMember& member) {
      for (const char c : member.name)
        fuzz::require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a control character in a name");
      fuzz::require(static_cast<int64_t>(file.read(member.offset, member.size).size()) == member.size,
                    "content of a wrong size");
    });
  });
  fuzz::read_or_reject([&] { read_pictures(index_shards(path, 1)); });
  for (const std::vector<std::string>& classes : {std::vector<std::string>{}, {"mug", "bike"}})
    fuzz::read_or_reject([&] {
      const ShardIndex index = index_labelled_shards(path, classes, 1);
      for (const int64_t label : index.labels)
        fuzz::require(label >= 0 && label < static_cast<int64_t>(index.classes.size()), "a label without a class");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string_view bytes = fuzz::text_of(data, size);
  read_archive(folder.write("input.tar", bytes));
  read_archive(folder.write("corrected.tar", with_checksums(bytes)));
  return 0;
}
