// Results as CSV (RFC 4180, lines end with \n): one row per trace, machine, layer and operation.
// docs/output.md lists the columns.
#pragma once

#include <string>
#include <vector>

#include "sim/simulation.hpp"

namespace lacuna {

// The samples that counts, cycles and joules of a row are of; it ends the names of their columns.
enum class CsvBasis {
  kBatch,     // "_per_batch": the training step with its whole batch
  kRecorded,  // "_as_recorded": the samples that the trace holds, with their share of what is once per batch
};

// Where no run has an energy with layers there are no columns of energy, power and area.
std::string results_to_csv(const SimulationOutcome& outcome, CsvBasis basis = CsvBasis::kBatch);

}  // namespace lacuna
