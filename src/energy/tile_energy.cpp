#include "energy/tile_energy.hpp"

namespace lacuna {
namespace {

constexpr double kPico = 1e-12;

// Of the logic, all of it clocked for a cycle.
ByComponent logic_picojoules_a_cycle(const ChipParts& chip, const CostTable& table) {
  using enum CostKey;
  ByComponent energy;
  energy.of(Component::kCores) = chip.macs * table.value(kMacEnergy);
  energy.of(Component::kTransposers) = chip.transposers * table.value(kTransposerEnergy);
  energy.of(Component::kSchedulersAndBMuxes) = chip.scheduler_inputs * table.value(kSchedulerInputEnergy) +
                                               chip.b_mux_inputs * table.value(kMuxInputEnergy);
  energy.of(Component::kAMuxes) = chip.a_mux_inputs * table.value(kMuxInputEnergy);
  return energy;
}

}  // namespace

ChipParts ChipParts::of_tiles(std::int64_t tiles, std::int64_t rows, std::int64_t columns, std::int64_t lanes,
                              std::int64_t mux_inputs, std::int64_t schedulers_a_tile,
                              std::int64_t transposers, std::int64_t sram_banks_each, double frequency_mhz) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  ChipParts chip;
  chip.macs = number(tiles * rows * columns * lanes);
  chip.transposers = number(transposers);
  // [TensorDash §3.3, Fig. 11]: the dense side has a multiplexer block a PE; a scheduler has one of its own
  // side.
  chip.a_mux_inputs = chip.macs * number(mux_inputs);
  chip.b_mux_inputs = number(tiles * schedulers_a_tile * lanes * mux_inputs);
  chip.scheduler_inputs = chip.b_mux_inputs;
  chip.sram_banks = number(3 * sram_banks_each);
  chip.scratchpad_tiles = number(tiles * (rows + columns)) / 8 * number(lanes) / 16;
  chip.frequency_mhz = frequency_mhz;
  return chip;
}

ByComponent energy_joules(const ChipCounts& counts, const ChipParts& chip, const CostTable& table) {
  using enum CostKey;
  // ASSUMPTION(A16): logic costs its power for the cycles it is clocked, whether its operands are zero or
  // not; it is not clocked while the tiles wait for memory.
  ByComponent energy = logic_picojoules_a_cycle(chip, table);
  energy.of(Component::kCores) *= counts.compute_cycles * kPico;
  energy.of(Component::kTransposers) *= counts.compute_cycles * kPico;
  energy.of(Component::kSchedulersAndBMuxes) *= counts.scheduled_cycles * kPico;
  energy.of(Component::kAMuxes) *= counts.scheduled_cycles * kPico;
  energy.of(Component::kZeroCounters) = counts.counted_rows * table.value(kZeroCounterEnergy) * kPico;
  energy.of(Component::kScratchpads) = (counts.scratchpad_reads * table.value(kScratchpadReadEnergy) +
                                        counts.scratchpad_writes * table.value(kScratchpadWriteEnergy) +
                                        counts.psum_reads * table.value(kPsumReadEnergy) +
                                        counts.psum_writes * table.value(kPsumWriteEnergy)) *
                                       kPico;
  energy.of(Component::kSram) = (counts.sram_reads * table.value(kSramReadEnergy) +
                                 counts.sram_writes * table.value(kSramWriteEnergy)) *
                                kPico;
  energy.of(Component::kDram) = counts.dram_bits * table.value(kDramBitEnergy) * kPico +
                                counts.dram_activations * table.value(kDramActivationEnergy) * 1e-9;
  energy.of(Component::kDramStatic) =
      table.value(kDramStaticPower) * 1e-3 * counts.cycles / (chip.frequency_mhz * 1e6);
  return energy;
}

ByComponent logic_watts(const ChipParts& chip, const CostTable& table) {
  ByComponent power = logic_picojoules_a_cycle(chip, table);
  for (double& part : power.parts) part *= kPico * chip.frequency_mhz * 1e6;
  return power;
}

ByComponent area_mm2(const ChipParts& chip, const CostTable& table) {
  using enum CostKey;
  ByComponent area;
  area.of(Component::kCores) = chip.macs * table.value(kMacArea);
  area.of(Component::kTransposers) = chip.transposers * table.value(kTransposerArea);
  area.of(Component::kSchedulersAndBMuxes) = chip.scheduler_inputs * table.value(kSchedulerInputArea) +
                                             chip.b_mux_inputs * table.value(kMuxInputArea);
  area.of(Component::kAMuxes) = chip.a_mux_inputs * table.value(kMuxInputArea);
  area.of(Component::kSram) = chip.sram_banks * table.value(kSramBankArea);
  area.of(Component::kScratchpads) = chip.scratchpad_tiles * table.value(kScratchpadsArea);
  for (double& part : area.parts) part *= 1e-6;
  return area;
}

}  // namespace lacuna
