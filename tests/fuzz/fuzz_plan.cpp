// Any text as the plan of a sweep: it is read, its designs are counted and the first ones configured.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "sweep/plan/design_space.hpp"
#include "time_limit.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  using namespace lacuna;
  using namespace lacuna::sweep;
  try {
    const Plan plan = Plan::parse({reinterpret_cast<const char*>(data), size}, "fuzz.yaml", false);
    const DesignSpace space(plan);
    if (space.combinations() == 0 || plan.traces.empty()) std::abort();
    int left = 16;
    // Looking at all combinations of a plan whose conditions never hold takes seconds.
    if (space.combinations() > 10'000) return 0;
    space.for_each([&](const Choice& choice) {
      (void)space.machine(choice);
      return --left > 0;
    });
  } catch (const InputError&) {
  }
  return 0;
}
