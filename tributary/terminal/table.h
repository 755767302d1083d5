// A table of texts, for the terminal and for Markdown.
//
// On a terminal the columns line up whatever the characters take (± and █ are several bytes and one column), and no row
// has blanks at its end, so that piped output compares cleanly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // A row has one cell for every column. Line breaks and tabs in a cell become blanks.
  void add_row(std::vector<std::string> cells);

  size_t row_count() const { return rows_.size(); }

  // Titles, a rule and the rows, every line ended. Where the table is wider than `width`, its widest columns are cut
  // with "…", though never below a few characters; 0 means any width.
  std::string to_text(int64_t width = 0) const;

  std::string to_markdown() const;

 private:
  std::vector<int64_t> column_widths(int64_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tributary
