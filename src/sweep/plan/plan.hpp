// A plan: traces, machines and what is varied (docs/sweep.md, "Plans").
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/catalog/arch_catalog.hpp"
#include "sweep/expression/expression.hpp"
#include "sweep/store/records.hpp"
#include "trace/synthetic/synthetic.hpp"

namespace lacuna::sweep {

// Parameters that vary together: one of `values` is chosen, each holds one text per name.
struct PlanAxis {
  std::vector<std::string> names;  // "rows", "tensordash.rows", "energy_table", "node"
  std::vector<std::vector<std::string>> values;
  std::string where;  // "plan.yaml:7:3"
};

// Name of an axis: "tensordash.rows" is of one machine, "rows" of every machine that has it.
struct AxisName {
  std::string_view machine;  // empty: every one
  std::string_view key;
};
AxisName split_name(std::string_view name);

// Axes that vary the prices of a design; they are not parameters of machines.
inline constexpr std::string_view kEnergyTable = "energy_table";
inline constexpr std::string_view kNode = "node";

struct PlanTrace {
  std::filesystem::path path;              // of a file
  std::optional<SyntheticSpec> synthetic;  // of a trace without a file
  std::string origin;                      // path, or the command that makes it
  std::string where;
};

// Settings of a search that replaces trying everything; not validated here.
struct PlanStrategy {
  std::string name = "grid";
  std::map<std::string, std::string> settings;
  std::string where;
};

struct Plan {
  // Limits on the values of one axis, combinations that are examined, and designs x traces.
  static constexpr std::uint64_t kMostValues = 10'000, kMostCombinations = 10'000'000,
                                 kMostPoints = 1'000'000;

  std::string file;
  std::string text;
  std::vector<PlanTrace> traces;
  std::vector<Machine> machines;
  std::optional<Machine> baseline;  // of all designs; without one each has its own
  std::vector<PlanAxis> axes;
  std::vector<Expression> conditions;  // over parameters and `machine`
  std::vector<Expression> limits;      // over those and what is known before a simulation (known_before())
  Measures measures = kAllMeasures;
  std::optional<std::uint64_t> at_most;  // designs: the first ones
  PlanStrategy strategy;

  // Throws InputError with file, line and column. Paths are relative to the file's folder; globs are
  // expanded and must match something. `read_files` off: paths stand as they are (for fuzzing).
  static Plan parse(std::string_view yaml, const std::string& file, bool read_files = true);
  static Plan load(const std::string& file);

  // Names of the parameters that take more than one value, without those of prices; sorted.
  std::vector<std::string> varied_parameters() const;
};

// Names that limits may use as well as parameters: area_mm2, multipliers, ...
const std::vector<std::string>& known_before();

}  // namespace lacuna::sweep
