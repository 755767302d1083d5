// Fuzzes list files (data/list_file.h): without labels, with any labels and with labels of three classes.
#include "fuzz/input.h"
#include "tributary/data/list_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  static const bool has_pictures = [] {
    for (const char* name : {"a.jpg", "scan 3", "b c.png"}) folder.write(name, "");
    return true;
  }();
  fuzz::require(has_pictures, "no pictures to list");
  const std::string path = folder.write("list_labels.txt", fuzz::text_of(data, size));
  fuzz::read_or_reject([&] { list_from_file(path, ""); });
  fuzz::read_or_reject([&] { list_from_labelled_file(path, folder.path(), {}); });
  fuzz::read_or_reject([&] {
    for (const ListedPicture& picture : list_from_labelled_file(path, folder.path(), {"x", "y", "z"}).pictures)
      fuzz::require(picture.label >= 0 && picture.label < 3, "a label out of range");
  });
  return 0;
}
