#include "base/cpu.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace lacuna {
namespace {

TEST(Cpu, NamesAndBack) {
  for (const Isa isa : kIsas) EXPECT_EQ(isa_named(isa_name(isa)), isa);
  EXPECT_EQ(isa_named("sse9"), std::nullopt);
}

TEST(Cpu, SetsIncludeTheOnesBelow) {
  EXPECT_TRUE(isa_available(Isa::kPortable));
  EXPECT_TRUE(isa_available(Isa::kAvx2) || !isa_available(Isa::kAvx512));
  EXPECT_TRUE(isa_available(Isa::kAvx512) || !cpu_features().avx512_vbmi2);
  EXPECT_TRUE(cpu_features().amx_bf16 || !amx_available());
}

TEST(Cpu, TheEnvironmentChoosesAnAvailableSet) {
  const char* before = std::getenv("LACUNA_ISA");
  const std::string kept = before == nullptr ? "" : before;
  for (const Isa isa : kIsas) {
    ::setenv("LACUNA_ISA", isa_name(isa), 1);
    EXPECT_EQ(best_isa(), isa_available(isa) ? isa : Isa::kPortable);
    EXPECT_EQ(isa_override(), isa_name(isa));
  }
  ::unsetenv("LACUNA_ISA");
  EXPECT_TRUE(isa_override().empty());
  EXPECT_EQ(best_isa(), isa_available(Isa::kAvx512) ? Isa::kAvx512
                        : isa_available(Isa::kAvx2) ? Isa::kAvx2
                                                    : Isa::kPortable);
  if (before != nullptr) ::setenv("LACUNA_ISA", kept.c_str(), 1);
}

}  // namespace
}  // namespace lacuna
