// Work on all cores without OpenMP: a loop whose turns are shared among a few threads.
//
// Decoding pictures is the one place where the library runs threads of its own. The turns cost very different amounts
// (a thumbnail, a 40 Mpixel photograph), so threads take small chunks as they become free.
#pragma once

#include <cstdint>
#include <functional>

namespace tributary {

// The number of threads this machine runs at once, at least 1.
int hardware_threads();

// Calls body(0) .. body(count - 1), each exactly once, in any order, on `threads` threads of which the caller is one
// (0 or less: hardware_threads()). When a call throws, no new chunk is begun, every thread is joined, and the exception
// that came first is thrown again here. With one thread the calls come in order.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& body);

}  // namespace tributary
