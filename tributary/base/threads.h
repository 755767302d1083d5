// A parallel loop on std::thread, without OpenMP.
//
// The library uses it to decode pictures. Iterations differ widely in cost (a thumbnail, a 40 Mpixel photograph), so
// idle threads fetch small chunks of iterations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tributary {

// The number of CPUs that this process may use, at least 1: those of its affinity mask, and no more than the quota of
// its cgroup (cpu.max) allows to run at a time.
int hardware_threads();
int usable_cpus();  // the same, asked anew

// The CPUs that a quota allows, from the text of cpu.max ("150000 100000" is 2, "max 100000" is 0: no limit).
int cpus_of_quota(const std::string& cpu_max);

// Throws an InputError if the system does not let this process start that many threads. OpenMP would end the program.
void require_threads(int threads);

// Calls body(0) .. body(count - 1), each exactly once, in any order, on `threads` threads including the caller (0 or
// less: hardware_threads()). If a call throws, no new chunk is started, all threads are joined, and the first exception
// is rethrown. With one thread, calls are in order.
void parallel_for(int64_t count, int threads, const std::function<void(int64_t)>& body);

}  // namespace tributary
