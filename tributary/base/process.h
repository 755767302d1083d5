// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace tributary {

struct Finished {
  int code = 0;          // its exit code; 128 + n where signal n ended it
  std::string out, err;  // what it printed
};

// Runs `command` (a path, then its arguments; no shell) without input. May be called from several threads at once. A
// WorkError where it cannot be started.
Finished run_process(const std::vector<std::string>& command);

// The program that is running now, and the line it was called with, fit to be read and copied.
std::string own_program();
std::string own_command();

}  // namespace tributary
