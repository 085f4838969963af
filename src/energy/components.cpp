#include "energy/components.hpp"

#include <algorithm>
#include <numeric>

namespace lacuna {

std::string_view component_name(Component component) {
  switch (component) {
    case Component::kCores:
      return "cores";
    case Component::kTransposers:
      return "transposers";
    case Component::kSchedulersAndBMuxes:
      return "schedulers_and_b_muxes";
    case Component::kAMuxes:
      return "a_muxes";
    case Component::kZeroCounters:
      return "zero_counters";
    case Component::kScratchpads:
      return "scratchpads";
    case Component::kSram:
      return "sram";
    case Component::kDram:
      return "dram";
    case Component::kDramStatic:
      return "dram_static";
    case Component::kMultipliers:
      return "multipliers";
    case Component::kCoordinates:
      return "coordinates";
    case Component::kRangeSearch:
      return "range_search";
    case Component::kCrossbar:
      return "crossbar";
    case Component::kAccumulators:
      return "accumulators";
    case Component::kOperandRams:
      return "operand_rams";
    case Component::kOutputRams:
      return "output_rams";
  }
  return "";
}

std::span<const Component> components_of(MachineKind kind) {
  using enum Component;
  static constexpr std::array kTileParts{kCores,  kTransposers,  kSchedulersAndBMuxes,
                                         kAMuxes, kZeroCounters, kScratchpads,
                                         kSram,   kDram,         kDramStatic};
  static constexpr std::array kOuterParts{kMultipliers, kCoordinates, kRangeSearch, kCrossbar, kAccumulators,
                                          kOperandRams, kOutputRams,  kSram,        kDram,     kDramStatic};
  if (kind == MachineKind::kTiles) return kTileParts;
  return kOuterParts;
}

bool has_component(MachineKind kind, Component component) {
  return std::ranges::find(components_of(kind), component) != components_of(kind).end();
}

ComponentGroup group_of(Component component) {
  switch (component) {
    case Component::kScratchpads:
    case Component::kSram:
    case Component::kAccumulators:
    case Component::kOperandRams:
    case Component::kOutputRams:
      return ComponentGroup::kSram;
    case Component::kDram:
    case Component::kDramStatic:
      return ComponentGroup::kDram;
    default:
      return ComponentGroup::kCore;
  }
}

double ByComponent::total() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

double ByComponent::group(ComponentGroup group) const {
  double sum = 0;
  for (std::size_t i = 0; i < kComponents; ++i) {
    if (group_of(static_cast<Component>(i)) == group) sum += parts[i];
  }
  return sum;
}

ByComponent& ByComponent::operator+=(const ByComponent& other) {
  for (std::size_t i = 0; i < kComponents; ++i) parts[i] += other.parts[i];
  return *this;
}

}  // namespace lacuna
