// Marks a function whose loops should be compiled once for each vector width and chosen by the CPU at run
// time. Only for code whose results do not depend on the width: exact integers, or sums that are compared
// within a bound.
#pragma once

#include <cstdint>

// Sanitizers and clang 14 do not support the run-time resolver; they get the plain version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define LACUNA_VECTOR_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define LACUNA_VECTOR_CLONES
#endif

namespace lacuna {

// 64 bytes of a type, added and multiplied element by element; the compiler maps it to the vectors of the
// CPU. Load and store with memcpy. Never a parameter or a result: that would depend on the CPU of the caller.
template <typename T>
using WideVector [[gnu::vector_size(64)]] = T;
inline constexpr std::int64_t kWideFloats = 16;

}  // namespace lacuna
