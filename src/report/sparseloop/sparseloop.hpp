// A trace as inputs of Timeloop and Sparseloop, version 0.4 of their YAML: shapes and measured densities of
// every operation, an architecture to start from, and our energies as Accelergy's reference table.
#pragma once

#include <string>
#include <vector>

#include "energy/cost_table.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// Distribution of zeros in a tensor of known density: what Sparseloop's density models offer for measured
// shares. It has none that takes occupancies of tiles.
inline const std::vector<std::string> kDensityModels{"hypergeometric", "fixed_structured"};

struct SparseloopOptions {
  std::string density_model = kDensityModels.front();
  PerOperation<bool> operations{true, true, true};
};

struct ExportedFile {
  std::string name;
  std::string text;
};

// Returns arch.yaml, ERT.yaml, occupancy.csv, and NNN-LAYER-OPERATION.yaml with problem, mapping and sparse
// optimization for each operation that the step ran. Throws InputError for a cost that the table does not
// have.
std::vector<ExportedFile> sparseloop_files(const Trace& trace, const CostTable& costs,
                                           const SparseloopOptions& options);

}  // namespace lacuna
