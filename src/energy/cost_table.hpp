// Costs of the parts of machines: data (configs/energy/*.yaml or a user's file), each number with its unit,
// its source and how far it can be trusted. docs/configuration.md describes the format.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lacuna {

enum class Confidence {
  kHigh,    // read from a primary table, or computed from one
  kMedium,  // a tool's output or a secondary source; 30 % either way
  kLow,     // inferred
};
char confidence_letter(Confidence confidence);  // 'H', 'M', 'L'

struct Cost {
  double value = 0;
  std::string unit;  // "pJ", "nJ", "mW", "um2", "mm2" or "ratio"
  std::string source;
  Confidence confidence = Confidence::kLow;

  double si() const;  // in J, W or mm2; a ratio as it is
};

// The factor of a node that scales a part.
enum class Scaling { kLogic, kSram, kNone };

inline constexpr std::string_view kAreaCost = "area";      // of one unit
inline constexpr std::string_view kStaticCost = "static";  // power; the action is counted in seconds

// The costs of one part: its area and each of its actions.
struct PartCosts {
  std::string name;
  Scaling scaling = Scaling::kNone;
  std::vector<std::pair<std::string, Cost>> costs;
};

struct CostTable {
  std::string name;
  std::string summary;
  double node_nm = 0;
  std::string data_type;           // fp32 | bfloat16 | fixed16
  std::vector<std::string> notes;  // what a reader of its areas should know
  std::vector<PartCosts> parts;

  const PartCosts* find(std::string_view part) const;
  const Cost* find(std::string_view part, std::string_view cost) const;

  // Throws InputError with file, line and key for what is not such a table: a cost that is negative, not
  // finite, without unit, source or confidence, in a unit that does not fit, twice there. Which parts and
  // actions there are is for the machines to say (energy.hpp).
  static CostTable parse(std::string_view yaml, const std::string& file);
  // A built-in table by name, or a file if the name is a path that exists or looks like one. `origin`
  // ("--energy-table") starts the message about a name that is neither.
  static CostTable open(const std::string& name_or_file, std::string_view origin);
  static std::vector<std::string> built_in();
  // The built-in table of a data type.
  static CostTable of_data_type(std::string_view data_type);
};

}  // namespace lacuna
