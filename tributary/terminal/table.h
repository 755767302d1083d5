// Formats tables for terminals and Markdown.
//
// Columns are aligned by display width (± and █ are several bytes and one column). Rows have no trailing spaces, so
// that output can be compared with diff.
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

  // `cells` has one cell per column. Line breaks and tabs become spaces.
  void add_row(std::vector<std::string> cells);

  size_t row_count() const { return rows_.size(); }

  // Titles, a rule and the rows. If the table is wider than `width`, the widest columns are truncated with "…", but not
  // below a few characters; 0 means any width.
  std::string to_text(int64_t width = 0) const;

  std::string to_markdown() const;

 private:
  std::vector<int64_t> column_widths(int64_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tributary
