#include "tributary/base/toml.h"

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {

toml::table parse_toml(std::string_view text, const std::string& name) {
  // Each part of a dotted key is a nested table, and the destructor recurses once per level.
  constexpr ptrdiff_t kMostDots = 2000;
  if (std::count(text.begin(), text.end(), '.') > kMostDots)
    input_error("{} has more than {} dots, so its keys may be nested too deeply; shorten it", name, kMostDots);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    input_error("{}:{}: not TOML ({}); correct the line", name, error.source().begin.line,
                printable(error.description(), 200));
  }
}

}  // namespace tributary
