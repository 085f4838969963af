// What energy is told apart by, for every kind of machine.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace lacuna {

enum class Component {
  // Tiles.
  kCores,
  kTransposers,
  kSchedulersAndBMuxes,
  kAMuxes,
  kZeroCounters,
  kScratchpads,
  // Around the tiles or PEs of every machine.
  kSram,
  kDram,
  kDramStatic,
  // PEs of the outer-product machines.
  kMultipliers,  // with the adders of the accumulators
  kCoordinates,
  kRangeSearch,
  kCrossbar,
  kAccumulators,
  kOperandRams,
  kOutputRams,
};
inline constexpr std::size_t kComponents = 16;
std::string_view component_name(Component component);  // "cores", "dram_static"; as in JSON

enum class MachineKind { kTiles, kOuterProduct };
// Those that a kind of machine has, in the order of results.
std::span<const Component> components_of(MachineKind kind);
bool has_component(MachineKind kind, Component component);

// What the three columns of TensorDash's Fig. 16 hold.
enum class ComponentGroup { kCore, kSram, kDram };
ComponentGroup group_of(Component component);

// A value a component: joules, watts or mm2.
struct ByComponent {
  std::array<double, kComponents> parts{};

  double& of(Component component) { return parts[static_cast<std::size_t>(component)]; }
  double of(Component component) const { return parts[static_cast<std::size_t>(component)]; }
  double total() const;
  double group(ComponentGroup group) const;
  // The logic: of tiles what Table 3 of TensorDash calls "compute".
  double compute() const { return group(ComponentGroup::kCore); }
  ByComponent& operator+=(const ByComponent& other);
};

}  // namespace lacuna
