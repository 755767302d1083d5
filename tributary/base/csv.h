// Cells of CSV files.
#pragma once

#include <string>
#include <string_view>

namespace tributary {

// A text as a cell: in quotes if it has a comma, quote or line break (RFC 4180). Spreadsheets take cells that begin
// with =, +, - or @ for formulas, so these get an apostrophe in front. Control characters become "?", and bytes that
// are not UTF-8 become U+FFFD.
std::string csv_field(std::string_view text);

}  // namespace tributary
