// Messages of other libraries, cut to what a person can use.
#pragma once

#include <algorithm>
#include <string>

namespace tributary {

// Torch's messages carry a stack trace and may begin with an empty line; the first line with something on it says it.
inline std::string first_line(const std::string& text) {
  const size_t start = std::min(text.find_first_not_of("\n "), text.size());
  return text.substr(start, text.find('\n', start) - start);
}

}  // namespace tributary
