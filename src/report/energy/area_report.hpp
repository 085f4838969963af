// Area and peak power of a machine by component, as a table for a person and as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "energy/energy.hpp"

namespace lacuna {

// A machine whose areas `table` prices (check_area_costs()).
struct AreaOf {
  std::string name;
  Hardware hardware;
  CostTable table;
  std::shared_ptr<const AreaOf> baseline =
      nullptr;  // null: the machine is its own, or another table prices it
};

std::string area_text(const AreaOf& machine, const TextStyle& style);
// Several side by side, each with its own table and without its baseline.
std::string areas_text(const std::vector<AreaOf>& machines, const TextStyle& style);
std::string areas_json(const std::vector<AreaOf>& machines);

}  // namespace lacuna
