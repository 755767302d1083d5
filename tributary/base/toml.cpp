#include "tributary/base/toml.h"

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {

toml::table parse_toml(std::string_view text, const std::string& name) {
  // A dotted key is a table in a table in a table, to any depth, and each level needs stack when it is taken down.
  constexpr ptrdiff_t kMostDots = 2000;
  if (std::count(text.begin(), text.end(), '.') > kMostDots)
    input_error("{} has more than {} dots, so its keys may be nested too deep; shorten it", name, kMostDots);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    input_error("{}:{}: not TOML ({}); correct the line", name, error.source().begin.line,
                printable(error.description(), 200));
  }
}

}  // namespace tributary
