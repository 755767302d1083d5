// Finds a Python with a given module and runs reference scripts with it.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace tributary::test {

inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// The first Python that can import `module`: $TRIBUTARY_PYTHON, Debian's, or the first on the PATH; nullopt if none
// can.
inline std::optional<std::string> python_with(const std::string& module) {
  std::vector<std::string> candidates = {"/usr/bin/python3", "python3"};
  if (const char* chosen = std::getenv("TRIBUTARY_PYTHON")) candidates.insert(candidates.begin(), chosen);
  for (const std::string& python : candidates) {
    const std::string command = shell_quoted(python) + " -c " + shell_quoted("import " + module) + " >/dev/null 2>&1";
    if (std::system(command.c_str()) == 0) return python;
  }
  return std::nullopt;
}

// Runs `script`, a path from the repository's root, with arguments; true if it exits with 0.
inline bool run_python(const std::string& python, const std::string& script,
                       const std::vector<std::string>& arguments) {
  std::string command = shell_quoted(python) + " " + shell_quoted(std::string(TRIBUTARY_SOURCE_DIR) + "/" + script);
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  return std::system(command.c_str()) == 0;
}

}  // namespace tributary::test
