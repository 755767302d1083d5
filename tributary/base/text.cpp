#include "tributary/base/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {
namespace {

struct CodePoint {
  char32_t value;
  size_t bytes;
  bool valid;
};

// Decodes the first code point of a non-empty `text`. Overlong forms, surrogates and values beyond Unicode are invalid,
// as in the TOML and JSON standards.
CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {0xFFFD, 1, false};
  char32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xFFFD, 1, false};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {0xFFFD, 1, false};
  return {value, length, true};
}

int64_t columns_of(char32_t c) {
  const auto within = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
  if (within(0x300, 0x36F) || within(0x200B, 0x200F) || within(0xFE00, 0xFE0F)) return 0;
  const bool wide = within(0x1100, 0x115F) || within(0x2E80, 0xA4CF) || within(0xAC00, 0xD7A3) ||
                    within(0xF900, 0xFAFF) || within(0xFE30, 0xFE6F) || within(0xFF00, 0xFF60) ||
                    within(0x1F300, 0x1FAFF) || within(0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

// Whether terminals obey the character or a reader is misled by it: control characters, line separators, marks of
// direction.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Levenshtein distance in one row of memory.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string thousands(int64_t value) {
  std::string digits = std::to_string(value);
  const ptrdiff_t first = value < 0 ? 1 : 0;
  for (ptrdiff_t at = static_cast<ptrdiff_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

MeanAndDeviation mean_and_deviation(const std::vector<double>& values) {
  TRIBUTARY_CHECK(!values.empty(), "no values to average");
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() == 1) return {mean, 0};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / (n - 1))};
}

std::string duration(double seconds) {
  constexpr double kCenturies = 1e10;
  if (!std::isfinite(seconds) || seconds < 0 || seconds > kCenturies) return "?";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += columns_of(point.value);
    text.remove_prefix(point.bytes);
  }
  return width;
}

std::string shorten(std::string_view text, int64_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 0) return "";
  std::string kept;
  for (int64_t left = columns - 1;;) {
    const CodePoint point = first_code_point(text);
    left -= columns_of(point.value);
    if (left < 0) return kept + "…";
    kept += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
}

std::string printable(std::string_view text, int64_t columns) {
  constexpr int64_t kMarks = 1000;  // most combining marks, which take no column
  std::string_view rest = text;
  for (int64_t points = 0; points <= columns + kMarks && !rest.empty(); ++points)
    rest.remove_prefix(first_code_point(rest).bytes);
  return shorten(safe_line(text.substr(0, text.size() - rest.size())), columns);
}

void require_utf8(const std::vector<std::string>& classes, const std::string& path) {
  for (const std::string& name : classes)
    if (!is_utf8(name)) input_error("{}: the class name '{}' is not UTF-8; rename it", path, printable(name));
}

std::string utf8_text(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    valid += point.valid ? text.substr(0, point.bytes) : "\xEF\xBF\xBD";
    text.remove_prefix(point.bytes);
  }
  return valid;
}

std::string replace_controls(std::string_view text, KeepLines keep,
                             const std::function<std::string(char32_t)>& replacement) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const bool kept = keep == KeepLines::kYes && (point.value == '\n' || point.value == '\t');
    if (!point.valid) {
      clean += '?';
    } else if (is_control(point.value) && !kept) {
      clean += replacement(point.value);
    } else {
      clean += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return clean;
}

std::string safe_line(std::string_view text) {
  return replace_controls(text, KeepLines::kNo, [](char32_t) { return "?"; });
}

std::string safe_lines(std::string_view text) {
  return replace_controls(text, KeepLines::kYes, [](char32_t) { return "?"; });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid) return false;
    text.remove_prefix(point.bytes);
  }
  return true;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestWord = 64;
  if (word.empty() || word.size() > kLongestWord) return "";
  std::string best;
  // Two swapped letters are a distance of 2. For short words, that would match too many candidates.
  const size_t farthest = word.size() <= 3 ? 1 : std::max<size_t>(2, word.size() / 3);
  size_t best_distance = farthest + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace tributary
