#include "tributary/terminal/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr int64_t kGap = 2;
constexpr int64_t kMinColumns = 6;

std::string repeated(std::string_view text, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string padded(const std::string& text, int64_t width, Align align) {
  const std::string shown = shorten(text, width);
  const std::string spaces = repeated(" ", width - display_width(shown));
  return align == Align::kRight ? spaces + shown : shown + spaces;
}

void end_line(std::string& out) {
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  TRIBUTARY_CHECK(!columns_.empty(), "a table without columns");
}

void Table::add_row(std::vector<std::string> cells) {
  TRIBUTARY_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  for (std::string& cell : cells) {
    std::replace_if(
        cell.begin(), cell.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    cell = safe_line(cell);
  }
  rows_.push_back(std::move(cells));
}

std::vector<int64_t> Table::column_widths(int64_t width) const {
  std::vector<int64_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    int64_t widest = display_width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[c]));
    widths.push_back(widest);
  }
  if (width <= 0) return widths;
  const int64_t gaps = kGap * static_cast<int64_t>(columns_.size() - 1);
  int64_t excess = std::accumulate(widths.begin(), widths.end(), gaps) - width;
  for (; excess > 0; --excess) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kMinColumns) break;
    --*widest;
  }
  return widths;
}

std::string Table::to_text(int64_t width) const {
  const std::vector<int64_t> widths = column_widths(width);
  std::string out;
  const auto write_line = [&](const auto& cell_of) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) out += repeated(" ", kGap);
      out += cell_of(c);
    }
    end_line(out);
  };
  write_line([&](size_t c) { return padded(columns_[c].title, widths[c], columns_[c].align); });
  write_line([&](size_t c) { return repeated("─", widths[c]); });
  for (const auto& row : rows_) write_line([&](size_t c) { return padded(row[c], widths[c], columns_[c].align); });
  return out;
}

std::string Table::to_markdown() const {
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '|') out += '\\';
      out += c;
    }
    return out;
  };
  std::string out = "|";
  for (const Column& column : columns_) out += " " + escaped(column.title) + " |";
  out += "\n|";
  for (const Column& column : columns_) out += column.align == Align::kRight ? "---:|" : "---|";
  out += '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (const std::string& cell : row) out += " " + escaped(cell) + " |";
    out += '\n';
  }
  return out;
}

}  // namespace tributary
