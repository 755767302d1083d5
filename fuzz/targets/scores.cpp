// Fuzzes score files (io/score_file.h): CSV, and archives of NumPy arrays, by their first bytes.
#include "fuzz/input.h"
#include "tributary/io/score_file.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string_view text = fuzz::text_of(data, size);
  const char* const name = text.starts_with("PK")          ? "scores.npz"
                           : text.starts_with("\x93NUMPY") ? "scores.npy"
                                                           : "scores.csv";
  const std::string path = folder.write(name, text);
  fuzz::read_or_reject([&] {
    const ScoreFile scores = read_score_file(path);
    fuzz::require(scores.values.size() == static_cast<size_t>(scores.rows * scores.columns),
                  "another number of scores");
    fuzz::require(logits_of(scores, ScoreKind::kAuto).size() == scores.values.size(), "another number of logits");
    for (const int64_t row : rows_of(scores, {"photos/a.png", "photos/b.png"}, "photos"))
      fuzz::require(row >= 0 && row < scores.rows, "a row out of range");
  });
  return 0;
}
