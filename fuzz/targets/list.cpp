// Any bytes as a list of pictures (data/list_file.h) in a folder that holds a few: without labels, with labels of any
// class and with labels of three classes. A line that is none is an InputError.
#include "fuzz/input.h"
#include "tributary/data/list_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  static const bool pictures_there = [] {
    for (const char* name : {"a.jpg", "scan 3", "b c.png"}) folder.write(name, "");
    return true;
  }();
  fuzz::require(pictures_there, "no pictures to list");
  const std::string path = folder.write("list_labels.txt", fuzz::text_of(data, size));
  fuzz::read_or_refuse([&] { list_from_file(path, ""); });
  fuzz::read_or_refuse([&] { list_from_labelled_file(path, folder.path(), {}); });
  fuzz::read_or_refuse([&] {
    for (const ListedPicture& picture : list_from_labelled_file(path, folder.path(), {"x", "y", "z"}).pictures)
      fuzz::require(picture.label >= 0 && picture.label < 3, "a label that is no class");
  });
  return 0;
}
