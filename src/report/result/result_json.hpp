// Results as JSON, schema version 2 (docs/output.md, docs/schema/result-v2.schema.json), and back.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/energy/energy_report.hpp"
#include "sim/result.hpp"

namespace lacuna {

inline constexpr int kResultSchema = 2;

// Energies to write with the runs: `of_runs[i]` belongs to run i, one without layers is left out.
struct EnergyToWrite {
  const std::vector<RunEnergy>* of_runs = nullptr;
  bool layers = false;
};

// A resolved configuration as one JSON object.
std::string config_json(const std::vector<ConfigValue>& config);

// The same runs give the same bytes.
std::string results_to_json(const std::vector<RunResult>& runs, const EnergyToWrite& energies = {});

// What a file says of a run's energy, in joules: totals, by operation and of all.
struct StoredEnergy {
  struct Joules {
    double baseline = 0;
    double machine = 0;
  };
  std::string table;
  double node_nm = 0;
  std::array<Joules, kOperations.size()> by_operation;
  Joules all;
};

struct ResultFile {
  std::string lacuna;  // the version that wrote it
  std::vector<RunResult> runs;
  std::vector<std::optional<StoredEnergy>> energies = {};  // of each run; nothing where the file has none
};

// Reads what results_to_json() wrote, by this version or a later one of the same schema (fields it does not
// know are ignored), and files of schema 1, which call the baseline "dense". Throws InputError for anything
// else, totals that do not follow from the layers included; `where` (the file) starts the message.
ResultFile parse_results_json(std::string_view text, const std::string& where);

}  // namespace lacuna
