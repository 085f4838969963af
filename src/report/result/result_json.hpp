// Results as JSON, schema version 2 (docs/output.md, docs/schema/result-v2.schema.json), and back.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.hpp"
#include "report/energy/energy_report.hpp"
#include "sim/simulation.hpp"

namespace lacuna {

inline constexpr int kResultSchema = 2;

// The fields of totals.
Json cycles_json(const CycleComparison& cycles);

// Returns the text of a file, with the energy of each layer if `energy_layers` says so. The same outcome
// gives the same bytes.
std::string results_to_json(const SimulationOutcome& outcome, bool energy_layers = false);

// Energy of a run in a file, in joules: totals, by operation and of all.
struct StoredEnergy {
  struct Joules {
    double baseline = 0;
    double machine = 0;
  };
  std::string table;
  double node_nm = 0;
  PerOperation<Joules> by_operation;
  Joules all;
};

struct ResultFile {
  std::string lacuna;  // the version that wrote it
  std::vector<RunResult> runs;
  std::vector<std::optional<StoredEnergy>> energies = {};  // of each run; nothing where the file has none
};

// Reads a file that results_to_json() wrote, in this version or a later one of the same schema (unknown
// fields are ignored). Throws InputError for anything else, including totals that are not the sums of their
// layers; `where` (the file) starts the message.
ResultFile parse_results_json(std::string_view text, const std::string& where);

}  // namespace lacuna
