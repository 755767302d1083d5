// Runs another program to its end, and describes the current one.
#pragma once

#include <string>
#include <vector>

namespace tributary {

struct Finished {
  int code = 0;          // exit code; 128 + n if signal n killed it
  std::string out, err;  // standard output and standard error
};

// Runs `command` (a path and its arguments; no shell) without input. Thread-safe. Throws a WorkError if it cannot be
// started. If this program is interrupted (interrupt.h), the child gets a SIGTERM.
Finished run_process(const std::vector<std::string>& command);

// Ties Tributary processes to the one that starts them: the parent calls `announce_parent`, which sets an environment
// variable; children call `end_with_parent` and get a SIGTERM when the parent ends, so that they save a checkpoint.
void announce_parent();
void end_with_parent();

// The word for a shell: in single quotes, unless it means nothing else there.
std::string shell_word(const std::string& word);

// The path of the running program, and its command line, quoted for a shell.
std::string own_program();
std::string own_command();

}  // namespace tributary
