#include "tributary/base/csv.h"

#include "tributary/base/text.h"

namespace tributary {

std::string csv_text(std::string_view text) {
  return safe_lines(utf8_text(text));
}

std::string csv_field(std::string_view text) {
  std::string cell = csv_text(text);
  // Some spreadsheets skip blanks in front of a formula.
  const size_t first = cell.find_first_not_of(" \t\n");
  if (first != std::string::npos && std::string_view("=+-@").find(cell[first]) != std::string_view::npos)
    cell.insert(0, "'");
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string without_formula_mark(std::string cell) {
  if (cell.size() > 1 && cell[0] == '\'' && csv_field(cell.substr(1)) == csv_field(cell)) cell.erase(0, 1);
  return cell;
}

std::vector<std::string> take_csv_row(std::string_view& text, size_t most_cells) {
  std::vector<std::string> fields(1);
  bool quoted = false, full = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      ++i;
      if (!full) fields.back() += c;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      full = full || fields.size() > most_cells;
      if (!full) fields.emplace_back();
    } else if (!quoted && c == '\n') {
      text.remove_prefix(i + 1);
      return fields;
    } else if (!full) {
      fields.back() += c;
    }
  }
  text = {};
  return {};
}

}  // namespace tributary
