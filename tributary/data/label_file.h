// Labels that a person wrote for single pictures: a CSV file with the columns `picture` and `label`.
//
//   picture,label,drawn
//   photos/img_0412.jpg,lorry,suggested
//
// `tributary suggest` writes such files with empty labels. The column `drawn` says how the pictures were chosen. An
// audit sample is drawn at random ("random 0": by seed 0), so that its labels measure the accuracy without bias, unless
// they are trained on. Any other column is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

struct LabelRow {
  std::string picture, label;           // the label may be empty: not written yet
  std::optional<uint64_t> random_seed;  // of an audit sample
  int64_t line = 0;
};

// The rows of the file, in its order. InputError if it has no such columns, or a row has too many cells.
std::vector<LabelRow> read_label_file(const std::string& path);

// The cell of the column `drawn`.
std::string drawn_text(const LabelRow& row);

// The text of such a file.
std::string label_file_text(const std::vector<LabelRow>& rows);

// A label per row that has one.
struct MatchedRows {
  std::vector<int64_t> picture;  // position in the target set
  std::vector<int64_t> label;    // index of the class
};

// Finds the pictures of `rows`, of the file `path`, among `names`, by name or else by file name, and their labels among
// `classes`. The result is in the order of `rows`, without repetitions. InputError for a picture that is not there, an
// unknown class, or two labels for one picture.
MatchedRows match_rows(const std::vector<LabelRow>& rows, const std::string& path,
                       const std::vector<std::string>& names, const std::vector<std::string>& classes);

}  // namespace tributary
