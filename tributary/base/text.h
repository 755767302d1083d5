// Numbers and words as people read them: on screens, in tables and in error messages.
//
// Everything here is a plain function on values; nothing depends on the locale, so that a report written on one machine
// equals one written on another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

// 2817 → "2,817".
std::string thousands(int64_t value);

// A share of 1 in percent with one decimal: 0.9312 → "93.1".
std::string percent(double share);

struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;  // of the sample (n − 1); 0 for a single value
};

// The paper's tables give these two over several seeds. `values` must not be empty.
MeanAndDeviation mean_and_deviation(const std::vector<double>& values);

// Two units at most: 12 → "12 s", 250 → "4 m 10 s", 3900 → "1 h 05 m". "?" where the time is not known (NaN, infinite
// or negative).
std::string duration(double seconds);

// How many columns a terminal gives to UTF-8 text: one a code point, none for combining marks, two for wide East Asian
// ones. Bytes that are not UTF-8 count one each.
int64_t display_width(std::string_view text);

// `text` cut at a code point so that it takes at most `columns`; the last one is then "…".
std::string shorten(std::string_view text, int64_t columns);

// Foreign text made fit for one line of an error message: control characters and bytes that are not UTF-8 become "?",
// and what is longer than `columns` is cut.
std::string printable(std::string_view text, int64_t columns = 80);

bool is_utf8(std::string_view text);

// The candidate that a mistyped word most likely meant, empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tributary
