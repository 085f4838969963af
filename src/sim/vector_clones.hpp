// Marks a function whose loops should be compiled once for each vector width and chosen by the CPU at run
// time. Only for code whose results do not depend on it: exact integers, or sums that are compared within a
// bound.
#pragma once

// Sanitizers and clang 14 do not support the run-time resolver; there the plain version serves.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define LACUNA_VECTOR_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define LACUNA_VECTOR_CLONES
#endif
