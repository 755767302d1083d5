// Python as a reference: finds an interpreter that has a module, and runs scripts of the test tree.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::test {

inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// A Python that runs support/python_server.py. It lives as long as the test program, so that modules are imported once.
class PythonServer {
 public:
  explicit PythonServer(const std::string& python) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      const std::string script = std::string(TRIBUTARY_SOURCE_DIR) + "/tests/support/python_server.py";
      if (::dup2(ends[1], 0) == 0 && ::dup2(ends[1], 3) == 3)
        ::execlp(python.c_str(), python.c_str(), script.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;
  ~PythonServer() {
    if (socket_ >= 0) ::close(socket_);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }

  // True if the request exits with code 0. False if there is no such Python, or it crashed.
  bool ask(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : "\x1f") + word;
    line += '\n';
    if (::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) return false;
    std::string answer;
    for (char c; ::recv(socket_, &c, 1, 0) == 1;) {
      if (c == '\n') return answer == "0";
      answer += c;
    }
    return false;
  }

  static PythonServer& of(const std::string& python) {
    static std::map<std::string, std::unique_ptr<PythonServer>> servers;
    std::unique_ptr<PythonServer>& server = servers[python];
    if (!server) server = std::make_unique<PythonServer>(python);
    return *server;
  }

 private:
  int socket_ = -1;
  pid_t child_ = -1;
};

// The first Python that runs `import MODULES`: $TRIBUTARY_PYTHON, Debian's, or the first on the PATH.
// Nullopt if none does, or if TRIBUTARY_SKIP_REFERENCES is set (scripts/sanitize).
inline std::optional<std::string> python_with(const std::string& modules) {
  if (std::getenv("TRIBUTARY_SKIP_REFERENCES")) return std::nullopt;
  std::vector<std::string> candidates = {"/usr/bin/python3", "python3"};
  if (const char* chosen = std::getenv("TRIBUTARY_PYTHON")) candidates.insert(candidates.begin(), chosen);
  for (const std::string& python : candidates)
    if (PythonServer::of(python).ask({"import", modules})) return python;
  return std::nullopt;
}

// Runs `script`, a path relative to the repository's root, with arguments; true if it exits with 0.
inline bool run_python(const std::string& python, const std::string& script,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"run", std::string(TRIBUTARY_SOURCE_DIR) + "/" + script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return PythonServer::of(python).ask(words);
}

}  // namespace tributary::test
