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
// WorkError where it cannot be started. When this program is asked to stop (interrupt.h), so is the other one.
Finished run_process(const std::vector<std::string>& command);

// A program of ours that was started by `run_process` of process `parent` ends with it, however that ends, after
// keeping its work. The parent says so in the environment of what it starts.
void announce_parent();
void end_with_parent();

// The program that is running now, and the line it was called with, fit to be read and copied.
std::string own_program();
std::string own_command();

}  // namespace tributary
