// Components by name, for tables.
#pragma once

#include <string_view>

#include "energy/components.hpp"

namespace lacuna {

inline std::string_view component_title(Component component) {
  switch (component) {
    case Component::kCores:
      return "compute cores";
    case Component::kTransposers:
      return "transposers";
    case Component::kSchedulersAndBMuxes:
      return "schedulers and B muxes";
    case Component::kAMuxes:
      return "A muxes";
    case Component::kZeroCounters:
      return "zero counters";
    case Component::kScratchpads:
      return "scratchpads";
    case Component::kSram:
      return "AM, BM, CM";
    case Component::kDram:
      return "DRAM";
    case Component::kDramStatic:
      return "DRAM, static";
    case Component::kMultipliers:
      return "multipliers and adders";
    case Component::kCoordinates:
      return "coordinates";
    case Component::kRangeSearch:
      return "range and search";
    case Component::kCrossbar:
      return "crossbar";
    case Component::kAccumulators:
      return "accumulators";
    case Component::kOperandRams:
      return "operand RAMs";
    case Component::kOutputRams:
      return "output RAMs";
  }
  return "";
}

}  // namespace lacuna
