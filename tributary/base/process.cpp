#include "tributary/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"

namespace tributary {
namespace {

// A pipe that child processes do not inherit.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) work_error("cannot create a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(size_t which) const { return ends_[which]; }
  void close_end(size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

// Reads both pipes until they are closed. Sends SIGTERM to `child` when this program is interrupted.
void drain(Pipe& out, Pipe& err, pid_t child, Finished& finished) {
  std::array<pollfd, 3> waiting = {pollfd{out.end(0), POLLIN, 0}, pollfd{err.end(0), POLLIN, 0},
                                   pollfd{interrupt_descriptor(), POLLIN, 0}};
  std::array<std::string*, 2> texts = {&finished.out, &finished.err};
  std::array<char, 1 << 14> buffer;
  for (int open = 2; open > 0;) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) break;
    if ((waiting[2].revents & POLLIN) != 0) {
      kill(child, SIGTERM);
      waiting[2] = {-1, 0, 0};
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      if (waiting[i].fd < 0 || (waiting[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const ssize_t count = read(waiting[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        waiting[i].fd = -1;
        --open;
      }
    }
  }
}

constexpr const char* kParent = "TRIBUTARY_PARENT";  // process ID

}  // namespace

Finished run_process(const std::vector<std::string>& command) {
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.end(1), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.end(1), STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) work_error("cannot start {}: {}", command.front(), std::strerror(failed));
  out.close_end(1);
  err.close_end(1);
  Finished finished;
  drain(out, err, child, finished);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

void announce_parent() {
  setenv(kParent, std::to_string(getpid()).c_str(), 1);
}

void end_with_parent() {
  const char* const parent = std::getenv(kParent);
  if (!parent) return;
  const bool ours = std::to_string(getppid()) == parent;
  unsetenv(kParent);  // not for the children of this process
  constexpr pid_t kInit = 1;
  if (!ours && getppid() != kInit) return;  // left over in the environment of another program
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (!ours) raise(SIGTERM);  // the parent had already ended
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*?[]{}!#~`") == std::string::npos) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line, word;
  while (std::getline(file, word, '\0')) {
    if (line.empty()) word = std::filesystem::path(word).filename().string();
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line;
}

std::string own_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace tributary
