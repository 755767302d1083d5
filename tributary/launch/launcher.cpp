#include "tributary/launch/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "tributary/base/error.h"
#include "tributary/base/print.h"
#include "tributary/base/process.h"
#include "tributary/base/threads.h"
#include "tributary/launch/address.h"
#include "tributary/launch/rank_info.h"

namespace tributary {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPeerLost = 75;                        // between children and parent only
constexpr const char* kMark = "TRIBUTARY_LAUNCHED";  // set in the environment of children
constexpr const char* kParent = "TRIBUTARY_PARENT";  // see base/process.h
constexpr int kNotRunnable = 127;

// Strings and an array of pointers to them, for execve.
class StringArray {
 public:
  explicit StringArray(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  StringArray(const StringArray&) = delete;
  StringArray& operator=(const StringArray&) = delete;
  char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// 128 random bits in hexadecimal.
std::string new_secret() {
  std::array<uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != sizeof bits)
    work_error("cannot draw a secret: {}", std::strerror(errno));
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::vector<std::string> environment_of(int64_t rank, int64_t size, int port, const std::string& secret) {
  std::map<std::string, std::string> table;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = std::min(text.find('='), text.size());
    table[text.substr(0, equals)] = text.substr(std::min(equals + 1, text.size()));
  }
  table["RANK"] = table["LOCAL_RANK"] = std::to_string(rank);
  table["WORLD_SIZE"] = table["LOCAL_WORLD_SIZE"] = std::to_string(size);
  table["MASTER_ADDR"] = "127.0.0.1";
  table["MASTER_PORT"] = std::to_string(port);
  table.try_emplace("OMP_NUM_THREADS", std::to_string(std::max<int64_t>(1, hardware_threads() / size)));
  table[kMark] = "1";
  table[kJobSecret] = secret;
  table[kParent] = std::to_string(getpid());
  std::vector<std::string> entries;
  for (const auto& [name, value] : table) entries.push_back(name + "=" + value);
  return entries;
}

// Waits for signals. They are blocked during its lifetime, so that none is lost between two waits.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &before_);
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;  // if it were ignored, waitpid would not report exit codes
    sigaction(SIGCHLD, &plain, nullptr);
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  const sigset_t& before() const { return before_; }

  // The next signal, or 0 at the time `until`; waits indefinitely without one.
  int next(const Clock::time_point* until) const {
    for (;;) {
      const auto left = until ? std::max(Clock::duration::zero(), *until - Clock::now()) : Clock::duration::zero();
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
      const timespec time{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
      const int signal = sigtimedwait(&set_, nullptr, until ? &time : nullptr);
      if (signal > 0) return signal;
      if (errno == EAGAIN) return 0;
    }
  }

 private:
  sigset_t set_{}, before_{};
};

// Runs in the child between fork and exec; async-signal-safe calls only.
[[noreturn]] void run_child(const Launch& plan, int64_t rank, pid_t parent, char* const* arguments,
                            char* const* environment, const sigset_t& mask) {
  // Own process group: Ctrl-C reaches children only once, through the parent.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  if (rank > 0) {
    const int nothing = open("/dev/null", O_RDWR);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0) _exit(kNotRunnable);
    if (nothing > STDERR_FILENO) close(nothing);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(plan.program.c_str(), arguments, environment);
  constexpr char kMessage[] = "tributary: cannot start a process of --processes\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(kNotRunnable);
}

class Children {
 public:
  Children(const Launch& plan, const Signals& signals) : plan_(plan) {
    const int port = free_port();
    const std::string secret = new_secret();
    const StringArray arguments(plan.arguments);
    const pid_t parent = getpid();
    for (int64_t rank = 0; rank < plan.processes; ++rank) {
      const StringArray environment(environment_of(rank, plan.processes, port, secret));
      const pid_t child = fork();
      if (child == 0) run_child(plan, rank, parent, arguments.data(), environment.data(), signals.before());
      if (child < 0) {
        const int error = errno;
        send(SIGKILL);
        for (const pid_t started : running_) waitpid(started, nullptr, 0);
        work_error("cannot start process {} of {}: {}", rank + 1, plan.processes, std::strerror(error));
      }
      setpgid(child, child);  // also done by the child; either may come first
      running_.push_back(child);
      rank_of_[child] = rank;
    }
  }

  // Waits for all children; see `launch`.
  int supervise(const Signals& signals) {
    while (!running_.empty()) {
      const int signal = signals.next(terminations_ < 2 && code_ != 0 ? &deadline_ : nullptr);
      if (signal == SIGCHLD)
        reap();
      else if (signal != 0)
        forward(signal);
      else
        terminate_next();
    }
    return code_ == kPeerLost ? kWorkError : code_;
  }

 private:
  void reap() {
    int status = 0;
    for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::find(running_.begin(), running_.end(), child);
      if (found == running_.end()) continue;
      running_.erase(found);
      if (WIFSIGNALED(status) && !interrupted_ && terminations_ == 0)
        print_message(fmt::format("tributary: rank {} was killed by signal {} ({})", rank_of_.at(child),
                                  WTERMSIG(status), strsignal(WTERMSIG(status))));
      record_code(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
  }

  void record_code(int code) {
    if (code == 0) return;
    if (code_ == 0) deadline_ = Clock::now() + seconds(plan_.grace);
    // The exit codes of terminated processes do not tell the cause.
    if (code_ == 0 || (code_ == kPeerLost && terminations_ == 0)) code_ = code;
  }

  void forward(int signal) {
    interrupted_ = true;
    send(signal);
  }

  void terminate_next() {
    send(terminations_ == 0 ? SIGTERM : SIGKILL);
    ++terminations_;
    deadline_ = Clock::now() + seconds(plan_.last_grace);
  }

  void send(int signal) const {
    // SIGKILL also goes to the processes that a child has started.
    for (const pid_t child : running_) kill(signal == SIGKILL ? -child : child, signal);
  }

  static Clock::duration seconds(double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  }

  const Launch& plan_;
  std::vector<pid_t> running_;
  std::map<pid_t, int64_t> rank_of_;
  int code_ = 0;              // exit code of the presumed cause
  int terminations_ = 0;      // 1 after SIGTERM, 2 after SIGKILL
  bool interrupted_ = false;  // a signal was forwarded
  Clock::time_point deadline_;
};

}  // namespace

Launch own_launch(int64_t processes) {
  Launch plan;
  plan.processes = processes;
  plan.program = own_program();
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) plan.arguments.push_back(word);
  return plan;
}

int launch(const Launch& plan) {
  TRIBUTARY_CHECK(plan.processes > 0, "{} processes", plan.processes);
  const Signals signals;
  return Children(plan, signals).supervise(signals);
}

bool launched() {
  return std::getenv(kMark) != nullptr;
}

int exit_code_for_lost_peer() {
  return launched() ? kPeerLost : kWorkError;
}

}  // namespace tributary
