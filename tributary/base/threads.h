// A parallel loop on std::thread, without OpenMP.
//
// The library uses it to decode pictures. Iterations differ widely in cost (a thumbnail, a 40 Mpixel photograph), so
// idle threads fetch small chunks of iterations.
#pragma once

#include <cstdint>
#include <functional>

namespace tributary {

// The number of hardware threads, at least 1.
int hardware_threads();

// Calls body(0) .. body(count - 1), each exactly once, in any order, on `threads` threads including the caller (0 or
// less: hardware_threads()). If a call throws, no new chunk is started, all threads are joined, and the first exception
// is rethrown. With one thread, calls are in order.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& body);

}  // namespace tributary
