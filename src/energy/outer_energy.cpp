#include "energy/outer_energy.hpp"

namespace lacuna {
namespace {

constexpr double kPico = 1e-12;

// ASSUMPTION(O8): logic by cycles, as that of the tiles (A16), or by use.
void add_logic(const OuterCounts& counts, const OuterParts& machine, const CostTable& table,
               ByComponent& energy) {
  using enum OuterCostKey;
  const double slots = machine.multipliers * counts.compute_cycles;
  const double pe_cycles = machine.pes * counts.compute_cycles;
  const double multiplied = machine.gated ? counts.executed_products : slots;
  const double added = machine.gated ? counts.useful_products : slots;
  const bool searches = machine.search_window > 0;
  const double ranges = machine.gated ? counts.ranges : searches ? pe_cycles : 0;
  const double searched = !searches       ? 0
                          : machine.gated ? counts.kernel_index_reads
                                          : pe_cycles * machine.search_window;
  energy.of(Component::kMultipliers) =
      (multiplied * table.value(kMultiplierEnergy) + added * table.value(kAdderEnergy)) * kPico;
  energy.of(Component::kCoordinates) = multiplied * table.value(kCoordinateEnergy) * kPico;
  energy.of(Component::kCrossbar) = added * table.value(kCrossbarEnergy) * kPico;
  energy.of(Component::kRangeSearch) =
      (ranges * table.value(kRangeEnergy) + searched * table.value(kSearchEnergy)) * kPico;
}

}  // namespace

ByComponent energy_joules(const OuterCounts& counts, const OuterParts& machine, const CostTable& table) {
  using enum OuterCostKey;
  ByComponent energy;
  add_logic(counts, machine, table, energy);
  const OuterCostKey kernel_index = machine.search_window > 0 ? kWindowReadEnergy : kIndexReadEnergy;
  energy.of(Component::kAccumulators) =
      ((counts.useful_products + counts.halo_values) *
           (table.value(kAccumulatorReadEnergy) + table.value(kAccumulatorWriteEnergy)) +
       counts.drained_values * table.value(kAccumulatorReadEnergy)) *
      kPico;
  energy.of(Component::kOperandRams) =
      (counts.image_reads * (table.value(kRamReadEnergy) + table.value(kIndexReadEnergy)) +
       counts.kernel_value_reads * table.value(kKernelReadEnergy) +
       counts.kernel_index_reads * table.value(kernel_index) +
       counts.row_pointer_reads * table.value(kIndexReadEnergy) +
       counts.loaded_values * (table.value(kRamWriteEnergy) + table.value(kIndexWriteEnergy))) *
      kPico;
  energy.of(Component::kOutputRams) =
      counts.drained_values * (table.value(kRamWriteEnergy) + table.value(kRamReadEnergy)) * kPico;
  energy.of(Component::kSram) = (counts.sram_reads * table.value(CostKey::kSramReadEnergy) +
                                 counts.sram_writes * table.value(CostKey::kSramWriteEnergy)) *
                                kPico;
  energy.of(Component::kDram) = counts.dram_bits * table.value(CostKey::kDramBitEnergy) * kPico +
                                counts.dram_activations * table.value(CostKey::kDramActivationEnergy) * 1e-9;
  energy.of(Component::kDramStatic) =
      table.value(CostKey::kDramStaticPower) * 1e-3 * counts.cycles / (machine.frequency_mhz * 1e6);
  return energy;
}

}  // namespace lacuna
