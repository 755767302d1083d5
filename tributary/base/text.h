// Formats numbers, durations and foreign text for terminals, tables and error messages.
//
// Nothing depends on the locale, so that reports are equal on all machines.
#pragma once

#include <cstdint>
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

// Makes foreign text safe for one line of an error message: control characters and invalid UTF-8 become "?", and the
// result is truncated to `columns`.
std::string printable(std::string_view text, int64_t columns = 80);

bool is_utf8(std::string_view text);

// The candidate closest to a mistyped word by edit distance; empty if none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tributary
