// Runs the command-line program and captures its exit code and output.
#pragma once

#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"

namespace tributary::test {

struct Outcome {
  int code;
  std::string out, err;
  int64_t peak_bytes = 0;  // resident memory, of forked programs
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Runs `tributary ARGUMENTS` (shell text) in `folder`. GPUs are hidden, because results are bitwise reproducible on the
// CPU.
inline Outcome run_program(const TempDir& folder, const std::string& arguments) {
  const TempDir capture;
  const std::string command = "cd " + shell_quoted(folder.path()) +
                              " && CUDA_VISIBLE_DEVICES= " + shell_quoted(TRIBUTARY_BINARY) + " " + arguments + " >" +
                              shell_quoted(capture / "out") + " 2>" + shell_quoted(capture / "err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(capture / "out"), file_text(capture / "err")};
}

}  // namespace tributary::test
