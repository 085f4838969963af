// Energy of the outer-product machines (SCNN-like, ANT): counts x costs, by component. Costs come from the
// section `outer_product` of a table, and from `costs` for what is around the PEs.
#pragma once

#include "energy/components.hpp"
#include "energy/cost_table.hpp"

namespace lacuna {

struct OuterParts {
  double pes = 0;
  double multipliers = 0;    // of all PEs
  double search_window = 0;  // ANT's k; 0: a PE without range and search
  double frequency_mhz = 500;
  // False: logic costs its power for every cycle of the PEs, as that of the tiles does. True: it costs what
  // it is used for.
  bool gated = false;
};

// What happens in an operation (or many).
struct OuterCounts {
  double compute_cycles = 0;     // of the PEs
  double cycles = 0;             // all the time that passes
  double executed_products = 0;  // multiplied
  double useful_products = 0;    // of those, brought to an accumulator
  double ranges = 0;             // image vectors whose range was computed
  double image_reads = 0;        // values with their indices
  double kernel_value_reads = 0;
  double kernel_index_reads = 0;
  double row_pointer_reads = 0;
  double loaded_values = 0;   // written with their indices to the RAMs of PEs
  double drained_values = 0;  // sums: out of the accumulators, through an output RAM
  double halo_values = 0;     // sums that are added up in the accumulators of another PE
  double sram_reads = 0;      // rows of 16 values
  double sram_writes = 0;
  double dram_bits = 0;
  double dram_activations = 0;
};

// The table must have the section `outer_product`.
ByComponent energy_joules(const OuterCounts& counts, const OuterParts& machine, const CostTable& table);

}  // namespace lacuna
