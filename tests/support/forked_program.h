// Runs the program in a fork of the test process: as isolated as a new process, without the half second that loading
// LibTorch takes.
//
// Only for arguments with which the program starts no child processes: they would run the test program.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "cli/program.h"
#include "tests/support/program.h"

namespace tributary::test {

// Runs `tributary ARGUMENTS` (shell text) on the CPU in this process, a fork, and exits without the destructors of the
// test program.
[[noreturn]] inline void become_program(const std::string& arguments) {
  wordexp_t words{};
  if (::wordexp(("tributary " + arguments).c_str(), &words, WRDE_NOCMD) != 0) ::_exit(127);
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const int code = cli::run_program(static_cast<int>(words.we_wordc), words.we_wordv);
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::_exit(code);
}

// Like `run_program`: runs `tributary ARGUMENTS` (shell text) in `folder`, on the CPU. The caller must have no other
// threads, because a fork does not copy them.
inline Outcome run_forked_program(const TempDir& folder, const std::string& arguments) {
  const TempDir capture;
  const std::string out = capture / "out", err = capture / "err";
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    const int printed = ::open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int messages = ::open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::chdir(folder.path().c_str()) != 0 || ::dup2(nothing, 0) < 0 || ::dup2(printed, 1) < 0 ||
        ::dup2(messages, 2) < 0)
      ::_exit(127);
    become_program(arguments);
  }
  if (child < 0) throw std::runtime_error("cannot fork");
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(out), file_text(err)};
}

// A temporary folder in which the commands have been run.
class PreparedDir : public TempDir {
 public:
  explicit PreparedDir(const std::vector<std::string>& commands) {
    for (const std::string& arguments : commands) {
      const Outcome outcome = run_forked_program(*this, arguments);
      if (outcome.code != 0) throw std::runtime_error(arguments + ": " + outcome.err);
    }
  }
};

}  // namespace tributary::test
