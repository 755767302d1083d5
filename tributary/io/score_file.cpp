#include "tributary/io/score_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <unordered_map>

#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/path_names.h"
#include "tributary/base/text.h"
#include "tributary/io/npy_file.h"
#include "tributary/io/zip_reader.h"
#include "tributary/io/zip_writer.h"

namespace tributary {
namespace {

constexpr double kSumTolerance = 0.01;  // of rounded probabilities
constexpr float kLargestLogit = 1e4F;
constexpr size_t kMostColumns = 100'000;  // of a CSV file
constexpr int64_t kNone = -1, kTwice = -2;

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

// The first name that occurs twice; null if there is none.
const std::string* repeated(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second) return &name;
  return nullptr;
}

void require_usable(const ScoreFile& scores) {
  const std::string& path = scores.path;
  if (scores.rows == 0) input_error("{} has no scores; write one row per picture", path);
  if (scores.columns < 2) input_error("{} has scores of {} class; a source needs at least 2", path, scores.columns);
  if (!scores.pictures.empty() && static_cast<int64_t>(scores.pictures.size()) != scores.rows)
    input_error("{} names {} pictures for {} rows of scores; name one per row", path, scores.pictures.size(),
                scores.rows);
  if (!scores.classes.empty() && static_cast<int64_t>(scores.classes.size()) != scores.columns)
    input_error("{} names {} classes for {} columns of scores; name one per column", path, scores.classes.size(),
                scores.columns);
  if (const std::string* name = repeated(scores.classes))
    input_error("{} has the class '{}' twice; give each class one column", path, printable(*name));
  for (const std::string& name : scores.classes)
    if (name.empty()) input_error("{} has a class without a name; name every column", path);
  if (const std::string* name = repeated(scores.pictures))
    input_error("{} has scores of {} twice; give each picture one row", path, printable(*name, 200));
  tributary::require_utf8(scores.classes, path);
  for (size_t i = 0; i < scores.values.size(); ++i) {
    if (std::isfinite(scores.values[i])) continue;
    const auto row = static_cast<int64_t>(i) / scores.columns;
    input_error("{}: a score of {} is {}; leave pictures out that could not be scored, or score them again", path,
                scores.row_name(row), std::isnan(scores.values[i]) ? "NaN" : "infinite");
  }
}

float number_from(const std::string& cell, const std::string& path, int64_t line, const std::string& column) {
  float value = 0;
  const char* const begin = cell.data() + (cell.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), value);
  const bool out_of_range = error == std::errc::result_out_of_range;
  if ((error != std::errc() && !out_of_range) || end != cell.data() + cell.size() || cell.empty())
    input_error("{}:{}: \"{}\" in the column {} is no number; write scores such as 0.25", path, line,
                printable(cell, 40), printable(column));
  const size_t exponent = cell.find_first_of("eE");
  if (out_of_range) return exponent != std::string::npos && cell[exponent + 1] == '-' ? 0 : INFINITY;
  return value;
}

ScoreFile read_csv(const std::string& path) {
  std::string text = read_text(path);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());  // line breaks of other systems
  if (!text.empty() && text.back() != '\n') text += '\n';
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // a mark that spreadsheets write
  const std::vector<std::string> titles = take_csv_row(rest, kMostColumns);
  if (titles.size() > 2 && titles[0] == "path" && titles[1] == "class")
    input_error("{} has classes of pictures but no scores; write scores with tributary predict --scores FILE", path);
  if (titles.empty() || titles.front() != "picture")
    input_error("{} does not begin with the columns picture,CLASS,CLASS; name them in its first line", path);
  if (titles.size() > kMostColumns)
    input_error("{} has more than {} columns; save scores of so many classes as .npz", path, thousands(kMostColumns));
  ScoreFile scores{path, {}, {}, 0, static_cast<int64_t>(titles.size()) - 1, {}};
  for (size_t k = 1; k < titles.size(); ++k)
    scores.classes.push_back(without_formula_mark(std::string(trimmed(titles[k]))));
  int64_t line = 1;
  while (!rest.empty()) {
    ++line;
    const std::vector<std::string> cells = take_csv_row(rest, kMostColumns);
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.empty()) input_error("{}:{}: a quote is not closed; close it, or write quotes twice", path, line);
    if (cells.size() != titles.size())
      input_error("{}:{}: {} cells in {} columns; write one score per class, and names with commas in quotes", path,
                  line, cells.size(), titles.size());
    scores.pictures.push_back(without_formula_mark(cells[0]));
    for (size_t k = 1; k < cells.size(); ++k)
      scores.values.push_back(number_from(without_formula_mark(cells[k]), path, line, titles[k]));
    ++scores.rows;
  }
  return scores;
}

void take_scores(const NpyArray& array, const std::string& file, ScoreFile& scores) {
  if (array.shape.size() != 2)
    input_error("{} has the shape ({}); save scores as an array [pictures, classes]", file,
                fmt::join(array.shape, ", "));
  scores.rows = array.shape[0];
  scores.columns = array.shape[1];
  scores.values = floats_of(array, file);
}

std::vector<std::string> names_from(const nlohmann::json& names, const char* key, const std::string& file) {
  std::vector<std::string> list;
  if (!names.contains(key)) return list;
  if (!names.at(key).is_array()) input_error("{}: \"{}\" is not a list of names; write [\"..\", \"..\"]", file, key);
  for (const nlohmann::json& name : names.at(key)) {
    if (!name.is_string()) input_error("{}: \"{}\" has an element that is no name; write texts only", file, key);
    list.push_back(name.get<std::string>());
  }
  return list;
}

ScoreFile read_npy(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  ScoreFile scores{path, {}, {}, 0, 0, {}};
  take_scores(parse_npy(bytes, path), path, scores);
  const std::string beside = names_file_of(path);
  if (!is_regular_file_at(beside)) return scores;
  const auto names = nlohmann::json::parse(read_text(beside), nullptr, /*allow_exceptions=*/false);
  if (!names.is_object())
    input_error("{} holds no names of {}; write {{\"pictures\": [..], \"classes\": [..]}}, or remove it", beside, path);
  scores.pictures = names_from(names, "pictures", beside);
  scores.classes = names_from(names, "classes", beside);
  return scores;
}

ScoreFile read_npz(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  const ZipReader zip(bytes, path);
  ScoreFile scores{path, {}, {}, 0, 0, {}};
  const auto content = [&](const ZipEntry& entry) {
    if (entry.method != 0) input_error("{} is compressed; save it with numpy.savez", path);
    return zip.content(entry);
  };
  const auto names = [&](const char* array) {
    const ZipEntry* const entry = zip.find(fmt::format("{}.npy", array));
    if (entry == nullptr) return std::vector<std::string>();
    const std::string file = fmt::format("{}: {}", path, array);
    return texts_of(parse_npy(content(*entry), file), file);
  };
  const ZipEntry* const entry = zip.find("scores.npy");
  if (entry == nullptr) {
    std::vector<std::string> found;
    for (const ZipEntry& other : zip.entries()) found.emplace_back(printable(other.name, 40));
    input_error("{} has no array 'scores' but {}; save it with numpy.savez(FILE, scores=.., pictures=.., classes=..)",
                path, found.empty() ? "nothing" : fmt::format("{}", fmt::join(found, ", ")));
  }
  const std::string file = path + ": scores";
  take_scores(parse_npy(content(*entry), file), file, scores);
  scores.pictures = names("pictures");
  scores.classes = names("classes");
  return scores;
}

// Why a row is no distribution; empty if it is one.
std::string flaw_of(const ScoreFile& scores, int64_t row) {
  double sum = 0, lowest = 0;
  for (int64_t k = 0; k < scores.columns; ++k) {
    const double value = scores.values[static_cast<size_t>(row * scores.columns + k)];
    sum += value;
    lowest = std::min(lowest, value);
  }
  if (lowest < 0) return fmt::format("go down to {:g}", lowest);
  if (std::abs(sum - 1) > kSumTolerance) return fmt::format("sum to {:.3g}, not 1", sum);
  return {};
}

std::vector<int64_t> look_up(const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
  std::unordered_map<std::string_view, int64_t> row, uses;
  for (size_t i = 0; i < known.size(); ++i) {
    const auto [entry, added] = row.try_emplace(known[i], static_cast<int64_t>(i));
    if (!added) entry->second = kTwice;
  }
  for (const std::string& name : wanted) ++uses[name];
  std::vector<int64_t> rows;
  for (const std::string& name : wanted) {
    const auto found = row.find(name);
    rows.push_back(found == row.end() || uses[name] > 1 ? kNone : std::max(found->second, kNone));
  }
  return rows;
}

}  // namespace

std::string ScoreFile::row_name(int64_t row) const {
  return pictures.empty() ? fmt::format("row {}", row) : printable(pictures[static_cast<size_t>(row)], 200);
}

bool is_score_file(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".csv" || ending == ".npy" || ending == ".npz";
}

ScoreFile read_score_file(const std::string& path) {
  const std::string ending = ending_of(path);
  ScoreFile scores = ending == ".npz" ? read_npz(path) : ending == ".npy" ? read_npy(path) : read_csv(path);
  for (std::string& name : scores.pictures) name = csv_text(name);  // as predictions.csv has it
  require_usable(scores);
  return scores;
}

ScoreKind kind_of(const ScoreFile& scores, ScoreKind kind) {
  const std::string& path = scores.path;
  const auto [low, high] = std::minmax_element(scores.values.begin(), scores.values.end());
  const bool may_be_probabilities = *low >= 0 && *high <= 1 + kSumTolerance;
  if (kind == ScoreKind::kAuto && !may_be_probabilities) kind = ScoreKind::kLogits;
  if (kind == ScoreKind::kLogits) {
    if (std::max(-*low, *high) > kLargestLogit)
      input_error("{} has logits of up to {:g}; divide them by a temperature, so that none exceeds {:g}", path,
                  std::max(-*low, *high), kLargestLogit);
    return kind;
  }
  for (int64_t row = 0; row < scores.rows; ++row)
    if (const std::string flaw = flaw_of(scores, row); !flaw.empty())
      input_error("{}: the scores of {} {}; write probabilities, or name logits with {}:scores=logits", path,
                  scores.row_name(row), flaw, path);
  return ScoreKind::kProbabilities;
}

std::vector<float> logits_of(const ScoreFile& scores, ScoreKind kind) {
  std::vector<float> logits = scores.values;
  if (kind_of(scores, kind) == ScoreKind::kLogits) return logits;
  for (float& value : logits) value = static_cast<float>(std::log(std::max<double>(value, kLeastScore)));
  return logits;
}

std::vector<int64_t> rows_of(const ScoreFile& scores, const std::vector<std::string>& names,
                             const std::string& target) {
  const auto count = static_cast<int64_t>(names.size());
  std::vector<int64_t> rows;
  if (scores.pictures.empty()) {
    if (scores.rows != count)
      input_error(
          "{} has {} rows without names of pictures, but {} has {} pictures; name the pictures, or give one row per "
          "picture in their order",
          scores.path, thousands(scores.rows), target, thousands(count));
    for (int64_t i = 0; i < count; ++i) rows.push_back(i);
    return rows;
  }
  std::vector<std::string> wanted;
  for (const std::string& name : names) wanted.push_back(csv_text(name));
  const auto complete = [&rows] { return std::count(rows.begin(), rows.end(), kNone) == 0; };
  const std::vector<int64_t> exact = rows = look_up(wanted, scores.pictures);
  if (!complete()) rows = look_up(below_common_folder(wanted), below_common_folder(scores.pictures));
  if (!complete()) rows = look_up(file_names(wanted), file_names(scores.pictures));
  if (complete()) return rows;
  const int64_t missing = std::min(std::count(rows.begin(), rows.end(), kNone),  // of file names, or of whole names
                                   std::count(exact.begin(), exact.end(), kNone));
  const std::vector<int64_t>& closest = std::count(rows.begin(), rows.end(), kNone) == missing ? rows : exact;
  const auto first = std::find(closest.begin(), closest.end(), kNone) - closest.begin();
  input_error(
      "{} has no scores of {} of the {} pictures of {}, first {}; score the same pictures, under the same names",
      scores.path, thousands(missing), thousands(count), target, printable(names[static_cast<size_t>(first)], 200));
}

std::string names_file_of(const std::string& npy_path) {
  return std::filesystem::path(npy_path).replace_extension(".json").string();
}

void require_names_file(const std::string& path) {
  const std::string beside = names_file_of(path);
  if (ending_of(path) != ".npy" || !is_regular_file_at(beside)) return;
  const auto names = nlohmann::json::parse(read_text(beside), nullptr, /*allow_exceptions=*/false);
  if (names.is_object() && names.size() == 2 && names.contains("pictures") && names.contains("classes")) return;
  input_error("{} would be replaced by the names of {}; choose another name, or write .npz", beside, path);
}

void write_score_file(const ScoreFile& scores) {
  const std::string ending = ending_of(scores.path);
  if (ending == ".csv") {
    std::string text = "picture";
    for (const std::string& name : scores.classes) text += "," + csv_field(name);
    text += '\n';
    for (int64_t i = 0; i < scores.rows; ++i) {
      text += csv_field(scores.pictures[static_cast<size_t>(i)]);
      for (int64_t k = 0; k < scores.columns; ++k)
        text += fmt::format(",{:.9g}", scores.values[static_cast<size_t>(i * scores.columns + k)]);
      text += '\n';
    }
    write_file_atomically(scores.path, text);
    return;
  }
  const std::string array = npy_text(scores.values, scores.rows, scores.columns);
  if (ending == ".npy") {
    write_file_atomically(names_file_of(scores.path),
                          json_text({{"pictures", scores.pictures}, {"classes", scores.classes}}, 1) + "\n");
    write_file_atomically(scores.path, array);
    return;
  }
  const std::string pictures = npy_text(scores.pictures), classes = npy_text(scores.classes);
  ZipWriter zip;
  zip.add("scores.npy", bytes_of(array));
  zip.add("pictures.npy", bytes_of(pictures));
  zip.add("classes.npy", bytes_of(classes));
  write_file_atomically(scores.path, zip.finish());
}

}  // namespace tributary
