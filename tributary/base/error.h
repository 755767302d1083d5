// Error types with their exit codes, and the assertion macro.
//
// An `InputError` is caused by the user's input: a file, a flag, a picture. Its message is one sentence: the file, what
// is wrong with the actual values, what to do. The program prints it and exits with 2. A `WorkError` is any other
// failure (a non-finite loss, a full disk); the program exits with 1. It exits with 3 on out of memory, so that callers
// can retry with fewer parallel runs. A failed TRIBUTARY_CHECK is a bug in Tributary.
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

// A file or folder that is not there, or a folder without the files that it should hold.
class MissingFileError : public InputError {
 public:
  using InputError::InputError;
};

class WorkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class MemoryError : public WorkError {
 public:
  using WorkError::WorkError;
};

enum ExitCode : int { kWorkError = 1, kInputError = 2, kMemoryError = 3 };

template <typename... Args>
[[noreturn]] void input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void missing_file_error(fmt::format_string<Args...> format, Args&&... args) {
  throw MissingFileError(fmt::format(format, std::forward<Args>(args)...));
}

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
