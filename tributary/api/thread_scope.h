// Restores the number of LibTorch's threads: a call of the library must not change that of the calling program.
#pragma once

#include <ATen/Parallel.h>

namespace tributary {

class ThreadScope {
 public:
  ThreadScope() : threads_(at::get_num_threads()) {}
  ~ThreadScope() { at::set_num_threads(threads_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int threads_;
};

}  // namespace tributary
