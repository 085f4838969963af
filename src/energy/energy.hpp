// Energy, peak power and area: what a machine declares and counted, times what a cost table says of it.
#pragma once

#include <span>
#include <string>

#include "energy/components.hpp"
#include "energy/cost_table.hpp"

namespace lacuna {

// Joules of the counted actions; a component without any is 0. Throws std::logic_error for a count that the
// hardware does not declare or the table does not price: check_energy_costs() comes first.
ByComponent energy_joules(const Hardware& hardware, std::span<const ActionCount> actions,
                          const CostTable& table);
// Power of all units clocked in every cycle, for the components that have such parts: what Table 3 of
// TensorDash reports as power. Memories have none.
ByComponent peak_watts(const Hardware& hardware, const CostTable& table);
// Area of the components that have parts with units.
ByComponent area_mm2(const Hardware& hardware, const CostTable& table);

// Throw InputError if the table lacks a cost that the hardware needs or (energy) is of another data type.
// `machine` starts the message.
void check_energy_costs(const CostTable& table, const Hardware& hardware, const std::string& machine);
void check_area_costs(const CostTable& table, const Hardware& hardware, const std::string& machine);

// Throws InputError if the table prices a part or an action that none of the machines has: a slip in a name
// would otherwise go unnoticed.
void check_cost_names(const CostTable& table, std::span<const Hardware> machines);

// The table for a machine: `name_or_file` if that is given, else the built-in one of its data type or, for
// areas, the one that the hardware names; at a node (0: the table's own). Throws InputError.
CostTable energy_table(const std::string& name_or_file, int node_nm, const Hardware& hardware);
CostTable area_table(const std::string& name_or_file, int node_nm, const Hardware& hardware);

}  // namespace lacuna
