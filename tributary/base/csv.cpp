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

}  // namespace tributary
