#include "tributary/base/print.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tributary/base/text.h"

namespace tributary {
namespace {

int first_error = 0;

// Returns 0 or the error.
int write_text(int descriptor, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // a pipe that its other end made non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, /*timeout=*/-1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void print(std::string_view lines) {
  if (first_error == 0) first_error = write_text(STDOUT_FILENO, safe_lines(lines));
}

void print_message(std::string_view line) {
  constexpr int64_t kMostColumns = 16'000;  // two of the longest paths, and a sentence
  write_text(STDERR_FILENO, printable(line, kMostColumns) + '\n');
}

int output_error() {
  if (first_error == 0) {
    // Some file systems report a failed write when the file is closed.
    const int copy = ::dup(STDOUT_FILENO);
    if (copy >= 0 && ::close(copy) != 0) first_error = errno;
  }
  return first_error == EPIPE ? 0 : first_error;
}

}  // namespace tributary
