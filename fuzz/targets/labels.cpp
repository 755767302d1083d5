// Fuzzes files of labels that a person wrote (data/label_file.h): reading, writing again, and finding their pictures.
#include "fuzz/input.h"
#include "tributary/data/label_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("labels.csv", fuzz::text_of(data, size));
  fuzz::read_or_reject([&] {
    const std::vector<LabelRow> rows = read_label_file(path);
    const std::vector<LabelRow> again = read_label_file(folder.write("again.csv", label_file_text(rows)));
    fuzz::require(again.size() == rows.size(), "another number of rows");
    for (size_t i = 0; i < rows.size(); ++i)
      fuzz::require(again[i].random_seed == rows[i].random_seed, "another way of drawing the picture");
  });
  fuzz::read_or_reject([&] {
    const MatchedRows found =
        match_rows(read_label_file(path), path, {"photos/a.jpg", "photos/b.jpg"}, {"car", "lorry"});
    fuzz::require(found.picture.size() == found.label.size() && found.picture.size() <= 2,
                  "more pictures than there are");
    for (const int64_t picture : found.picture) fuzz::require(picture >= 0 && picture < 2, "a picture out of range");
    for (const int64_t label : found.label) fuzz::require(label >= 0 && label < 2, "a class out of range");
  });
  return 0;
}
