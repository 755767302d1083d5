// One function compiled for several kinds of processor; the program takes the best that it finds itself on.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define TRIBUTARY_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRIBUTARY_CLONES
#endif
