// Separate from the kernels: it runs on any CPU.
#include "kernels/bfloat16/tile_kernels.hpp"

#if defined(LACUNA_X86) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lacuna::kernels {

#if defined(LACUNA_X86) && defined(__linux__)
namespace {

bool has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d >> 22 & 1U) != 0 && (d >> 24 & 1U) != 0;  // bf16, tile
}

bool has_pairs() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return false;
  const bool bfloat16 = (a >> 5 & 1U) != 0;
  return bfloat16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

// Linux keeps the registers of tiles only for programs that have asked (since 5.16).
bool system_agrees() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool amx_available() {
  static const bool available = has_tiles() && has_pairs() && system_agrees();
  return available;
}

// oneDNN takes tiles wherever the CPU names them, and 2.6.3 fails on virtual machines that hide their size.
bool avx512_bfloat16_available() {
  static const bool available = has_pairs() && !has_tiles();
  return available;
}
#else
bool amx_available() { return false; }
bool avx512_bfloat16_available() { return false; }
#endif

}  // namespace lacuna::kernels
