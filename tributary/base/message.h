// Shortens error messages of other libraries.
#pragma once

#include <algorithm>
#include <string>

namespace tributary {

// Returns the first non-empty line. Torch's messages may start with an empty line and end with a stack trace.
inline std::string first_line(const std::string& text) {
  const size_t start = std::min(text.find_first_not_of("\n "), text.size());
  return text.substr(start, text.find('\n', start) - start);
}

}  // namespace tributary
