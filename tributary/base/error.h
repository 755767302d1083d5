// Errors that a person can act on, and assertions for our own bugs.
//
// An `InputError` is the user's: a file, a flag, a picture. Its message is one sentence that names the file, says what
// is wrong with the actual values and what to do; the program prints it and exits with 2. A `WorkError` is everything
// else that ends the work (a NaN, a full disk); the program exits with 1, or with 3 where memory ran out, which another
// attempt with less beside it may cure. A failed TRIBUTARY_CHECK is our bug.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tributary {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class WorkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class MemoryError : public WorkError {
 public:
  using WorkError::WorkError;
};

enum ExitCode : int { kWorkEnded = 1, kBadInput = 2, kMemoryEnded = 3 };

// Throws an InputError with a formatted message.
template <typename... Args>
[[noreturn]] void input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

// Throws a WorkError with a formatted message.
template <typename... Args>
[[noreturn]] void work_error(fmt::format_string<Args...> format, Args&&... args) {
  throw WorkError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tributary

#define TRIBUTARY_CHECK(condition, ...)                                                                               \
  do {                                                                                                                \
    if (!(condition))                                                                                                 \
      throw std::logic_error(fmt::format("{}:{}: {}: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__))); \
  } while (false)
