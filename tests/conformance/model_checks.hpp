// Laws of every accelerator, as checks that return the first thing that is wrong: the suite expects
// none, and its own test expects the right one of machines that cheat.
#pragma once

#include <cstdint>
#include <string>

#include "sim/accelerator.hpp"

namespace lacuna::testing {

// Both engines on random layers: equal results, values equal to the reference. Empty if all is well.
std::string check_engines_agree(const Accelerator& machine, std::uint64_t layers);

// The functional engine goes by the values that it moves and not by masks: it runs on layers whose masks are
// those of other layers, and must still take the cycles and count what the values ask for. `telling`: layers
// on which the two masks give different cycles, so that the check can fail.
struct ValuesCheck {
  std::string wrong;
  int telling = 0;
};
ValuesCheck check_executes_values(const Accelerator& machine, std::uint64_t layers);

// Counts against those of the layer; never below one cycle for some work; a pure function.
std::string check_counters(const Accelerator& machine, std::uint64_t layers);

}  // namespace lacuna::testing
