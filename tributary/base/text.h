// Formats numbers, durations and foreign text for terminals, tables and error messages.
//
// Nothing depends on the locale, so that reports are equal on all machines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

// 2817 → "2,817".
std::string thousands(int64_t value);

// A fraction as a percentage with one decimal: 0.9312 → "93.1".
std::string percent(double share);

struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;  // sample standard deviation (n − 1); 0 for a single value
};

// As in the paper's tables, over seeds. `values` must not be empty.
MeanAndDeviation mean_and_deviation(const std::vector<double>& values);

// At most two units: 12 → "12 s", 250 → "4 m 10 s", 3900 → "1 h 05 m". "?" for unknown times (NaN, infinite or
// negative).
std::string duration(double seconds);

// The number of terminal columns of UTF-8 text: one per code point, none for combining marks, two for wide East Asian
// characters. Invalid bytes count as one column each.
int64_t display_width(std::string_view text);

// Truncates `text` at a code point so that it takes at most `columns`, ending in "…".
std::string shorten(std::string_view text, int64_t columns);

// Makes foreign text safe for one line of an error message: as safe_line, truncated to `columns`.
std::string printable(std::string_view text, int64_t columns = 80);

// The text without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

bool is_utf8(std::string_view text);

// Throws an InputError if one of the class names of `path` is not UTF-8: model files, JSON and ONNX cannot hold it.
void require_utf8(const std::vector<std::string>& classes, const std::string& path);

// The text with U+FFFD in the place of bytes that are not UTF-8.
std::string utf8_text(std::string_view text);

// Replaces every character that a terminal may obey: ASCII and C1 control characters, line separators and the marks
// that change the direction of writing. Line feeds and tabs are kept on demand. Bytes that are not UTF-8 become "?".
enum class KeepLines { kNo, kYes };
std::string replace_controls(std::string_view text, KeepLines keep,
                             const std::function<std::string(char32_t)>& replacement);

// Foreign text for a terminal: control characters become "?", in lines but for line feeds and tabs.
std::string safe_line(std::string_view text);
std::string safe_lines(std::string_view text);

// The candidate closest to a mistyped word by edit distance; empty if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tributary
