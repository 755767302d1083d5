#include "tributary/terminal/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary {
namespace {

Table accuracies() {
  Table table({{"method"}, {"D,W → A", Align::kRight}, {"note"}});
  table.add_row({"source-ens", "62.5", ""});
  table.add_row({"selective", "77.3 ± 0.4", "ours"});
  return table;
}

TEST(Table, AlignsByDisplayWidth) {
  EXPECT_EQ(accuracies().to_text(),
            "method         D,W → A  note\n"
            "──────────  ──────────  ────\n"
            "source-ens        62.5\n"
            "selective   77.3 ± 0.4  ours\n");
}

TEST(Table, MarkdownHasAlignmentAndEscapes) {
  Table table({{"a|b"}, {"n", Align::kRight}});
  table.add_row({"x|y\nz", "1"});
  EXPECT_EQ(table.to_markdown(),
            "| a\\|b | n |\n"
            "|---|---:|\n"
            "| x\\|y z | 1 |\n");
}

TEST(Table, TruncatesTheWidestColumn) {
  Table table({{"file"}, {"n", Align::kRight}});
  table.add_row({"photos/a-very-long-name.jpg", "12"});
  EXPECT_EQ(table.to_text(16),
            "file           n\n"
            "────────────  ──\n"
            "photos/a-ve…  12\n");
  EXPECT_EQ(table.to_text(1),
            "file     n\n"
            "──────  ──\n"
            "photo…  12\n");
  EXPECT_EQ(table.to_text(1000), table.to_text());
}

TEST(Table, HasTitlesWithoutRows) {
  EXPECT_EQ(Table({{"a"}, {"b"}}).to_text(), "a  b\n─  ─\n");
}

TEST(Table, RejectsRowsOfAnotherLength) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), std::logic_error);
  EXPECT_THROW(Table({}), std::logic_error);
}

}  // namespace
}  // namespace tributary
