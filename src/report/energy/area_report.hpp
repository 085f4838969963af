// Area and peak power of a machine by component, as a table for a person and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "energy/energy.hpp"

namespace lacuna {

// A machine whose areas `table` prices (check_area_costs()).
struct AreaOf {
  std::string name;
  const Hardware& hardware;
  const CostTable& table;
};

// With the baseline next to it, unless the machine is its own or the two are priced by different tables.
std::string area_text(const AreaOf& machine, const AreaOf* baseline, const TextStyle& style);
// Several side by side, each with its own table.
std::string areas_text(const std::vector<AreaOf>& machines, const TextStyle& style);
// `baselines[i]` belongs to machines[i].
std::string areas_json(const std::vector<AreaOf>& machines,
                       const std::vector<std::optional<AreaOf>>& baselines);

}  // namespace lacuna
