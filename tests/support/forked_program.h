// Runs the program in a fork of the test process: as isolated as a new process, without the half second that loading
// LibTorch takes.
//
// Only for arguments with which the program starts no child processes: they would run the test program.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include <array>
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
// threads, because a fork does not copy them. `standard_output`, if not empty, is a file to open in the place of a
// capture, "closed", or "broken pipe": one without a reader.
inline Outcome run_forked_program(const TempDir& folder, const std::string& arguments,
                                  const std::string& standard_output = "") {
  const TempDir capture;
  const std::string out = capture / "out", err = capture / "err";
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    const bool is_file = standard_output.starts_with('/');
    int printed = ::open((is_file ? standard_output : out).c_str(), O_WRONLY | O_CREAT, 0600);
    if (std::array<int, 2> ends{}; standard_output == "broken pipe" && ::pipe(ends.data()) == 0) {
      ::close(ends[0]);
      printed = ends[1];
    }
    const int messages = ::open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::chdir(folder.path().c_str()) != 0 || ::dup2(nothing, 0) < 0 || ::dup2(printed, 1) < 0 ||
        ::dup2(messages, 2) < 0)
      ::_exit(127);
    if (standard_output == "closed") ::close(1);
    become_program(arguments);
  }
  if (child < 0) throw std::runtime_error("cannot fork");
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(out), file_text(err), used.ru_maxrss * 1024};
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
