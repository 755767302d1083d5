// How much memory there is, and how much was used.
#pragma once

#include <cstdint>

namespace tributary {

// Bytes that this machine can still give without swapping, as Linux estimates it; 4 GiB where it does not say.
int64_t available_memory();

// The most bytes this process had in memory at any time.
int64_t peak_memory();

// Lets the allocator keep what is freed instead of giving it back to the system. Training frees and takes the same
// large blocks in every step; fresh pages for them would cost a sixth of its time.
void keep_freed_memory();

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

}  // namespace tributary
