// Instruction sets of this CPU. Everything that picks code by what the CPU has asks here.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace lacuna {

// Instruction sets that kernels are compiled for. kAvx2 includes FMA and BMI; kAvx512 is F, BW, DQ and VL.
enum class Isa { kPortable, kAvx2, kAvx512 };
inline constexpr std::array kIsas = {Isa::kAvx512, Isa::kAvx2, Isa::kPortable};  // best first

const char* isa_name(Isa isa);  // "portable", "avx2", "avx512"
std::optional<Isa> isa_named(std::string_view name);
bool isa_available(Isa isa);
// The best one available, or the one named by $LACUNA_ISA if the CPU has it.
Isa best_isa();
// The table of functions for an instruction set, of three that are compiled for one each.
#if defined(__x86_64__)
#define LACUNA_OF_ISA(isa, portable, avx2, avx512) \
  ((isa) == ::lacuna::Isa::kAvx512 ? (avx512) : (isa) == ::lacuna::Isa::kAvx2 ? (avx2) : (portable))
#else
#define LACUNA_OF_ISA(isa, portable, avx2, avx512) (static_cast<void>(isa), portable)
#endif
// The value of $LACUNA_ISA; empty if it is not set.
std::string_view isa_override();

// Extensions that single kernels need; each is false without the instruction set it extends.
struct CpuFeatures {
  bool avx512_vbmi = false, avx512_vbmi2 = false, avx512_vpopcntdq = false, gfni = false;
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  // as the CPU reports it; see amx_available()
};
const CpuFeatures& cpu_features();  // detected once

// True if this process may use AMX tiles for bfloat16. Asks Linux for the tile registers on the first call.
bool amx_available();

}  // namespace lacuna
