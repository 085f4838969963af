// Laws that no machine can break, whatever it skips: they hold between a result and the hardware that it is
// said to come from. As model_checks.hpp, each returns the first thing that is wrong.
#pragma once

#include <string>

#include "sim/accelerator.hpp"

namespace lacuna::testing {

// Cycles x multipliers hold the products with two non-zero operands. `fullest`: the largest share of the
// multiplier slots that products fill in the operation that fills them least; a machine whose cycles were
// divided by more than 1 / fullest is caught for sure.
struct ThroughputCheck {
  std::string wrong;
  double fullest = 0;
};
ThroughputCheck check_throughput(const Accelerator& machine);

// Every value that is needed is read, from DRAM and from SRAM; there are as many multiplier cycles as
// products; DRAM is powered for as long as the operation takes. Counts are of parts that the hardware
// declares and grow with the batch.
std::string check_actions(const Accelerator& machine);

// Every part with actions has some of them counted on one layer or another.
std::string check_parts_are_used(const Accelerator& machine);

// Waiting for memory takes time: never less than with ideal memory, and no more bytes cross the DRAM bus than
// fit in that time. The same machine with memory=ideal and memory=modelled.
std::string check_memory_takes_time(const Accelerator& ideal, const Accelerator& modelled);

// The result depends on the layer, not on what it is called or on what ran before.
std::string check_depends_on_the_layer_alone(const Accelerator& machine);

}  // namespace lacuna::testing
