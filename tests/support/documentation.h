// Extracts the code blocks of documentation pages, to run them as tests.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace tributary::test {

struct CodeBlock {
  std::string language;  // "sh", "python"
  std::string text;
};

// The fenced code blocks of a page, in order.
inline std::vector<CodeBlock> code_blocks(const std::string& page) {
  std::vector<CodeBlock> blocks;
  std::istringstream lines(file_text(page));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), ""});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace tributary::test
