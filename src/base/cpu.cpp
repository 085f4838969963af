#include "base/cpu.hpp"

#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace lacuna {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

struct CpuId {
  unsigned a = 0, b = 0, c = 0, d = 0;
  explicit CpuId(unsigned subleaf) {
    if (__get_cpuid_count(7, subleaf, &a, &b, &c, &d) == 0) a = b = c = d = 0;
  }
};

CpuFeatures detect() {
  CpuFeatures f;
  if (!has_avx512()) return f;
  f.avx512_vbmi = __builtin_cpu_supports("avx512vbmi");
  f.avx512_vbmi2 = __builtin_cpu_supports("avx512vbmi2");
  f.avx512_vpopcntdq = __builtin_cpu_supports("avx512vpopcntdq");
  f.gfni = __builtin_cpu_supports("gfni");
  f.avx512_bf16 = (CpuId(1).a >> 5 & 1U) != 0;
  const CpuId id(0);
  f.amx_bf16 = (id.d >> 22 & 1U) != 0 && (id.d >> 24 & 1U) != 0;  // bf16, tile
  return f;
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
CpuFeatures detect() { return {}; }
#endif

// Linux saves the tile registers only for programs that have asked for them (since 5.16).
bool request_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

const char* isa_name(Isa isa) {
  return isa == Isa::kAvx512 ? "avx512" : isa == Isa::kAvx2 ? "avx2" : "portable";
}

std::optional<Isa> isa_named(std::string_view name) {
  for (const Isa isa : kIsas)
    if (name == isa_name(isa)) return isa;
  return std::nullopt;
}

bool isa_available(Isa isa) {
  static const bool avx2 = has_avx2(), avx512 = has_avx512();
  return isa == Isa::kAvx512 ? avx512 : isa == Isa::kPortable || avx2;
}

std::string_view isa_override() {
  const char* wanted = std::getenv("LACUNA_ISA");
  return wanted == nullptr ? "" : wanted;
}

// An unknown or empty name selects portable code.
Isa best_isa() {
  const char* wanted = std::getenv("LACUNA_ISA");
  for (const Isa isa : kIsas)
    if (isa_available(isa) && (wanted == nullptr || wanted == std::string_view(isa_name(isa)))) return isa;
  return Isa::kPortable;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

bool amx_available() {
  static const bool available = cpu_features().amx_bf16 && cpu_features().avx512_bf16 && request_tiles();
  return available;
}

}  // namespace lacuna
