// Runs a function in a child process and captures its exit code and standard error.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

namespace tributary::test {

class Forked {
 public:
  // Calls `work` in the child and exits with its result. Calling `ready`, or any output, signals readiness.
  explicit Forked(const std::function<int(const std::function<void()>& ready)>& work) {
    std::array<int, 2> ready_pipe{}, err{};
    if (pipe2(ready_pipe.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ == 0) {
      dup2(err[1], STDERR_FILENO);
      dup2(ready_pipe[1], STDOUT_FILENO);
      try {
        _exit(work([&] { [[maybe_unused]] const ssize_t written = write(ready_pipe[1], "r", 1); }));
      } catch (const std::exception& error) {
        dprintf(STDERR_FILENO, "%s\n", error.what());
        _exit(1);
      }
    }
    close(ready_pipe[1]);
    close(err[1]);
    ready_ = ready_pipe[0];
    err_ = err[0];
  }
  ~Forked() {
    if (child_ > 0) finish(SIGKILL);
    close(ready_);
    close(err_);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  // Blocks until the child is ready; false if it exited before.
  bool wait_until_ready() const {
    char letter = 0;
    return read(ready_, &letter, 1) == 1;
  }
  void signal(int number) const { kill(child_, number); }

  // Sends the signal `number` if it is not 0, waits for the child and returns its exit code; 128 + n if signal n killed
  // it.
  int finish(int number = 0) {
    if (number != 0) kill(child_, number);
    std::array<char, 1024> buffer;
    for (ssize_t count; (count = read(err_, buffer.data(), buffer.size())) > 0;)
      text_.append(buffer.data(), static_cast<size_t>(count));
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& err() const { return text_; }  // valid after finish()

 private:
  pid_t child_ = -1;
  int ready_ = -1, err_ = -1;
  std::string text_;
};

}  // namespace tributary::test
