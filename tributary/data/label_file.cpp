#include "tributary/data/label_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unordered_map>

#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr std::string_view kRandom = "random ", kSuggested = "suggested";
constexpr int64_t kNotThere = -1, kTwice = -2;
constexpr size_t kMostRows = 5'000'000;  // a row of three bytes takes a hundred in memory

// Where the columns are.
struct Columns {
  size_t picture, label, count;
  std::optional<size_t> drawn;
};

Columns columns_of(const std::vector<std::string>& titles, const std::string& path) {
  if (titles.size() > kMostCells) input_error("{} has more than {} columns; remove columns", path, kMostCells);
  const auto find = [&](std::string_view title) -> std::optional<size_t> {
    const auto found = std::find(titles.begin(), titles.end(), title);
    if (found == titles.end()) return std::nullopt;
    return static_cast<size_t>(found - titles.begin());
  };
  const auto picture = find("picture"), label = find("label");
  if (!picture || !label)
    input_error("{} does not begin with the columns picture,label; name them in its first line", path);
  return {*picture, *label, titles.size(), find("drawn")};
}

std::optional<uint64_t> seed_of(std::string_view drawn, const std::string& path, int64_t line) {
  if (!drawn.starts_with(kRandom)) return std::nullopt;
  const std::string_view digits = drawn.substr(kRandom.size());
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error != std::errc() || end != digits.data() + digits.size())
    input_error(
        "{}:{}: \"{}\" is no seed of an audit sample, such as \"random 0\"; draw the sample again with tributary "
        "suggest --random",
        path, line, printable(std::string(drawn), 40));
  return seed;
}

// Positions by name; kTwice for names that occur twice.
std::unordered_map<std::string, int64_t> positions(const std::vector<std::string>& names) {
  std::unordered_map<std::string, int64_t> all;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [entry, added] = all.try_emplace(names[i], static_cast<int64_t>(i));
    if (!added) entry->second = kTwice;
  }
  return all;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

int64_t found(const std::unordered_map<std::string, int64_t>& all, const std::string& name) {
  const auto entry = all.find(name);
  return entry == all.end() ? kNotThere : entry->second;
}

std::string advice_for(const std::string& label, const std::vector<std::string>& classes) {
  const std::string near = nearest(label, classes);
  if (!near.empty()) return fmt::format("did you mean {}?", printable(near));
  constexpr size_t kNamed = 8;
  std::string names;
  for (size_t k = 0; k < classes.size() && k < kNamed; ++k) names += (k > 0 ? ", " : "") + printable(classes[k]);
  return fmt::format("the classes are {}{}", names, classes.size() > kNamed ? ", ..." : "");
}

}  // namespace

std::vector<LabelRow> read_label_file(const std::string& path) {
  std::string text = read_text(path);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());  // line breaks of other systems
  if (!text.empty() && text.back() != '\n') text += '\n';
  std::string_view rest = text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // a mark that spreadsheets write
  int64_t line = 1;
  const Columns columns = columns_of(take_csv_row(rest), path);
  std::vector<LabelRow> rows;
  while (!rest.empty()) {
    ++line;
    const std::vector<std::string> cells = take_csv_row(rest);
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.empty()) input_error("{}:{}: a quote is not closed; close it, or write quotes twice", path, line);
    if (cells.size() > columns.count || cells.size() <= std::max(columns.picture, columns.label))
      input_error("{}:{}: {} cells in {} columns; put names with commas into quotes", path, line, cells.size(),
                  columns.count);
    LabelRow row{without_formula_mark(cells[columns.picture]), without_formula_mark(cells[columns.label]), {}, line};
    if (columns.drawn && *columns.drawn < cells.size()) row.random_seed = seed_of(cells[*columns.drawn], path, line);
    if (rows.size() == kMostRows) input_error("{} has more than {} rows; split the file", path, kMostRows);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string drawn_text(const LabelRow& row) {
  return row.random_seed ? fmt::format("{}{}", kRandom, *row.random_seed) : std::string(kSuggested);
}

std::string label_file_text(const std::vector<LabelRow>& rows) {
  std::string text = "picture,label,drawn\n";
  for (const LabelRow& row : rows)
    text += fmt::format("{},{},{}\n", csv_field(row.picture), csv_field(row.label), drawn_text(row));
  return text;
}

MatchedRows match_rows(const std::vector<LabelRow>& rows, const std::string& path,
                       const std::vector<std::string>& names, const std::vector<std::string>& classes) {
  std::vector<std::string> cells, files, labels;
  for (const std::string& name : names) {
    cells.push_back(csv_text(name));
    files.push_back(file_name(cells.back()));
  }
  for (const std::string& name : classes) labels.push_back(csv_text(name));  // as a CSV file can show it
  const auto by_name = positions(cells), by_file = positions(files), by_class = positions(labels);
  std::unordered_map<int64_t, size_t> first;  // row of each picture
  MatchedRows matched;
  for (size_t i = 0; i < rows.size(); ++i) {
    const LabelRow& row = rows[i];
    if (row.label.empty()) continue;
    int64_t picture = found(by_name, row.picture);
    if (picture < 0) picture = found(by_file, file_name(row.picture));
    if (picture < 0)
      input_error("{}:{}: {} {}; name pictures as predictions.csv does", path, row.line, printable(row.picture, 200),
                  picture == kNotThere ? "is not among the target pictures" : "names several target pictures");
    const int64_t label = found(by_class, row.label);
    if (label == kTwice)
      input_error("{}:{}: several classes of the models look like {} in a CSV file; rename them with --classes", path,
                  row.line, printable(row.label, 100));
    if (label < 0)
      input_error("{}:{}: {} is not a class of the models; {}", path, row.line, printable(row.label, 100),
                  advice_for(row.label, classes));
    const auto [before, added] = first.try_emplace(picture, i);
    if (!added && rows[before->second].label != row.label)
      input_error("{}:{}: {} is {} here and {} in line {}; give each picture one label", path, row.line,
                  printable(row.picture, 200), printable(row.label, 100), printable(rows[before->second].label, 100),
                  rows[before->second].line);
    if (!added) continue;
    matched.picture.push_back(picture);
    matched.label.push_back(label);
  }
  return matched;
}

}  // namespace tributary
