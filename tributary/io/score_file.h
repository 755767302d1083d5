// Scores of pictures that another program computed, one row per picture and one column per class: what a site can give
// away that keeps its model (docs/scores.md).
//
//   NAME.csv   picture,CLASS,CLASS,...  one line per picture
//   NAME.npz   `scores` [n, K], and optionally `pictures` [n] and `classes` [K]
//   NAME.npy   [n, K]; NAME.json beside it may hold {"pictures": [..], "classes": [..]}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

enum class ScoreKind { kAuto, kProbabilities, kLogits };

struct ScoreFile {
  std::string path;
  std::vector<std::string> pictures;  // one per row; empty: the rows have no names
  std::vector<std::string> classes;   // one per column; empty: the columns have no names
  int64_t rows = 0, columns = 0;
  std::vector<float> values;  // [rows, columns]

  // What messages call a row: its picture, or "row 17".
  std::string row_name(int64_t row) const;
};

// Smaller probabilities count as this one: a score of 0 may be a rounded one.
inline constexpr double kLeastScore = 1e-6;

// Whether the name ends in .csv, .npy or .npz.
bool is_score_file(const std::string& path);

// Throws an InputError if the file is none of the three formats, has no rows or fewer than two columns, a picture or a
// class occurs twice, or a score is not finite.
ScoreFile read_score_file(const std::string& path);

// Whether these are probabilities. kAuto decides by the values: rows of non-negative numbers that all sum to 1 are
// probabilities. Throws an InputError that names the first row that is neither, as one of probabilities that do not sum
// to 1.
ScoreKind kind_of(const ScoreFile& scores, ScoreKind kind);
// Logits [rows, columns]: the scores themselves, or the logarithms of probabilities.
std::vector<float> logits_of(const ScoreFile& scores, ScoreKind kind);

// The row of every picture of `names`, the pictures of `target`. Rows are found by the first of these that finds all:
// the name as given, the path below the common folder of its set, the file name if it is unique. Rows without names are
// taken in order. Further rows are ignored. Throws an InputError if a picture has no row.
std::vector<int64_t> rows_of(const ScoreFile& scores, const std::vector<std::string>& names, const std::string& target);

// Writes the format that `scores.path` ends in.
void write_score_file(const ScoreFile& scores);
// The file beside NAME.npy that holds its names, which write_score_file() replaces.
std::string names_file_of(const std::string& npy_path);
// Throws an InputError if writing `path` would replace a file beside it that holds something else than names.
void require_names_file(const std::string& path);

}  // namespace tributary
