// Marks a function for compilation with AVX2 and AVX-512 variants, one of which is chosen at load time.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define TRIBUTARY_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRIBUTARY_CLONES
#endif
