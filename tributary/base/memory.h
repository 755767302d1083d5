// Available memory, peak memory use, and the out-of-memory check.
#pragma once

#include <cstdint>

namespace tributary {

// Bytes available without swapping: the minimum of Linux's estimate (MemAvailable) and the rest of the container's
// limit; 4 GiB if unknown.
int64_t available_memory();

// Throws a MemoryError if less than 192 MiB are available, before the kernel kills the process, so that its state can
// be saved.
void require_memory(int64_t available);

// Raises the number of files that this process may open (ulimit) as far as it may. Throws an InputError if that is too
// low for any command.
void require_files();

// Throws an InputError if that many processes would not fit into the available memory.
void require_memory_for_processes(int64_t processes);

// Peak resident memory of this process in bytes.
int64_t peak_memory();

// Lets the allocator keep freed memory instead of returning it to the system. Training reallocates the same large
// blocks in every step; page faults for fresh ones would cost a sixth of its time.
void keep_freed_memory();

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

}  // namespace tributary
