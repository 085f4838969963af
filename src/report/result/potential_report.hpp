// Report of `lacuna inspect`: the layers of a trace, their zeros, and the speedup that skipping zeros
// could give at best.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/workload/potential.hpp"

namespace lacuna {

// Findings about a trace, without its tensors.
struct Inspection {
  std::string path;
  TraceInfo info;
  std::int64_t batch = 1;
  TracePotential potential;
};

// A title and a table: one row per layer, then the totals.
std::string inspection_table(const Inspection& inspection, const TextStyle& style);

// One table with one row per trace: its totals [TensorDash Fig. 1].
std::string inspection_summary(const std::vector<Inspection>& inspections, const TextStyle& style);

// docs/output.md describes the fields of both.
std::string inspections_to_json(const std::vector<Inspection>& inspections);
std::string inspections_to_csv(const std::vector<Inspection>& inspections);

}  // namespace lacuna
