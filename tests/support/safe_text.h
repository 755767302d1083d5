// Checks text that a terminal or another program will read.
#pragma once

#include <string>

#include "tributary/base/text.h"

namespace tributary::test {

// Whether the text is UTF-8 without characters that a terminal obeys. Line feeds and tabs may remain.
inline bool is_safe_text(const std::string& text) {
  return is_utf8(text) && safe_lines(text) == text;
}

}  // namespace tributary::test
