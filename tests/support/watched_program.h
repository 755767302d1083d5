// Runs the program and sends it a signal after a number of changes to files in its folder.
//
// The kernel reports the changes through inotify. This way, tests interrupt the program at any point of its work
// without depending on time.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "tests/support/forked_program.h"

namespace tributary::test {

// When to send which signal, and to which process.
struct SignalPlan {
  int64_t after;  // number of changes to files and folders
  int signal;
  int times = 1;
  std::function<pid_t(pid_t program)> target = [](pid_t program) { return program; };  // 0: not started yet
};

struct ProcessResult {
  int code = 0;              // exit code; 128 + n if signal n killed it
  bool signalled = false;    // the signal was sent before the program exited
  int64_t changes = 0;       // to files and folders
  double seconds_after = 0;  // from the signal to the exit
  std::string err;
};

// Counts changes in a folder and its subfolders.
class ChangeCounter {
 public:
  explicit ChangeCounter(const std::string& folder) : descriptor_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    watch(folder);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_directory() && !entry.is_symlink()) watch(entry.path().string());
  }
  ~ChangeCounter() { ::close(descriptor_); }
  ChangeCounter(const ChangeCounter&) = delete;
  ChangeCounter& operator=(const ChangeCounter&) = delete;

  int descriptor() const { return descriptor_; }

  // Reads pending events and returns the number of changes so far.
  int64_t count() {
    alignas(inotify_event) std::array<char, 1 << 14> buffer;
    for (ssize_t size; (size = ::read(descriptor_, buffer.data(), buffer.size())) > 0;)
      for (ssize_t at = 0; at < size;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
        ++count_;
        if ((event->mask & IN_ISDIR) != 0 && (event->mask & IN_CREATE) != 0)
          watch(folders_.at(event->wd) + "/" + event->name);
      }
    return count_;
  }

 private:
  void watch(const std::string& folder) {
    const int watched =
        inotify_add_watch(descriptor_, folder.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR);
    if (watched >= 0) folders_[watched] = folder;
  }

  int descriptor_;
  int64_t count_ = 0;
  std::map<int, std::string> folders_;
};

// Starts `tributary ARGUMENTS` (shell text) in `folder`, on the CPU, with a limit of `file_limit` bytes per file, and
// standard error in the file `err`. In a fork of the test process (forked_program.h) if `forked`.
inline pid_t start_program(const std::string& folder, const std::string& arguments, const std::string& err,
                           rlim_t file_limit = RLIM_INFINITY, bool forked = false) {
  const std::string command = "exec " + shell_quoted(TRIBUTARY_BINARY) + " " + arguments;
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const rlimit limit{file_limit, file_limit};
  const int nothing = open("/dev/null", O_RDWR), messages = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
  if (chdir(folder.c_str()) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0 || dup2(nothing, 0) < 0 ||
      dup2(nothing, 1) < 0 || dup2(messages, 2) < 0)
    _exit(127);
  if (forked) become_program(arguments);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Waits for a process; 128 + n if signal n killed it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs a program as `start_program` and sends it a signal.
inline ProcessResult run_watched(const std::string& folder, const std::string& arguments,
                                 std::optional<SignalPlan> plan = {}, rlim_t file_limit = RLIM_INFINITY,
                                 bool forked = false) {
  const TempDir capture;
  const std::string err = capture / "err";
  ChangeCounter changes(folder);
  const pid_t child = start_program(folder, arguments, err, file_limit, forked);
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  ProcessResult result;
  std::chrono::steady_clock::time_point signalled_at;
  for (;;) {
    std::array<pollfd, 2> waiting = {pollfd{ended, POLLIN, 0}, pollfd{changes.descriptor(), POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    result.changes = changes.count();
    if (waiting[0].revents != 0) break;
    if (!plan || result.signalled || result.changes < plan->after) continue;
    if (const pid_t target = plan->target(child); target > 0) {
      result.signalled = true;
      signalled_at = std::chrono::steady_clock::now();
      for (int i = 0; i < plan->times; ++i) kill(target, plan->signal);
    }
  }
  close(ended);
  result.code = exit_code_of(child);
  if (result.signalled)
    result.seconds_after = std::chrono::duration<double>(std::chrono::steady_clock::now() - signalled_at).count();
  result.err = file_text(err);
  return result;
}

}  // namespace tributary::test
