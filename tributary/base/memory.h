// How much memory there is, and how much was used.
#pragma once

#include <cstdint>

namespace tributary {

// Bytes that this machine can still give without swapping, as Linux estimates it, or what is left of the limit of the
// container we are in, if that is less; 4 GiB where nobody says.
int64_t available_memory();

// A MemoryError where so little is left that the kernel is about to end somebody: this way the work can be kept.
void require_memory(int64_t available);

// The most bytes this process had in memory at any time.
int64_t peak_memory();

// Lets the allocator keep what is freed instead of giving it back to the system. Training frees and takes the same
// large blocks in every step; fresh pages for them would cost a sixth of its time.
void keep_freed_memory();

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

}  // namespace tributary
