// Area and peak power of a machine by component, as a table for a person and as JSON.
#pragma once

#include <string>

#include "energy/energy.hpp"
#include "report/text_table.hpp"

namespace lacuna {

// A machine whose areas `table` prices (check_area_costs()).
struct AreaOf {
  std::string name;
  const Hardware& hardware;
  const CostTable& table;
};

// With the baseline beside it, unless the machine is its own or the two are priced by different tables.
std::string area_text(const AreaOf& machine, const AreaOf* baseline, const TextStyle& style);
std::string area_json(const AreaOf& machine, const AreaOf* baseline);

}  // namespace lacuna
