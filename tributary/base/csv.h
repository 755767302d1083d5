// Cells and rows of CSV files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary {

// The text of a cell as a reader gets it back, but for the apostrophe of `csv_field`: control characters become "?",
// and bytes that are not UTF-8 become U+FFFD.
std::string csv_text(std::string_view text);

// That text as a cell: in quotes if it has a comma, quote or line break (RFC 4180). Spreadsheets take cells that begin
// with =, +, - or @ for formulas, so these get an apostrophe in front.
std::string csv_field(std::string_view text);

// Undoes the apostrophe in front of a cell that looks like a formula.
std::string without_formula_mark(std::string cell);

// Removes one row from the start of `text` and returns its cells, as they are between quotes. No cells, and no text
// left, if the row does not end in a line break. A row of more cells is cut after `most_cells` + 1: an empty cell takes
// one byte of a file and forty of memory.
constexpr size_t kMostCells = 1000;
std::vector<std::string> take_csv_row(std::string_view& text, size_t most_cells = kMostCells);

}  // namespace tributary
