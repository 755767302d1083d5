#include "tributary/terminal/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tributary {

std::string sparkline(const std::vector<double>& values, int64_t columns) {
  static constexpr std::array kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  const int64_t count = static_cast<int64_t>(values.size()), shown = std::min(count, columns);
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    const int64_t at = shown > 1 ? i * (count - 1) / (shown - 1) : count - 1;
    const double share = *max > *min ? (values[static_cast<size_t>(at)] - *min) / (*max - *min) : 3.0 / 7;
    text += kBlocks[static_cast<size_t>(std::lround(share * 7))];
  }
  return text;
}

}  // namespace tributary
