#include "energy/energy.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "energy/node_scaling.hpp"

namespace lacuna {
namespace {

constexpr std::string_view kCycle = "cycle";

bool counts(const Part& part, std::string_view action) {
  return std::ranges::find(part.actions, action) != part.actions.end();
}

bool declares(const Hardware& hardware, const ActionCount& count) {
  for (const Component& component : hardware.components) {
    if (component.name != count.component) continue;
    const auto part = std::ranges::find(component.parts, count.part, &Part::name);
    if (part == component.parts.end()) return false;
    return counts(*part, count.action) ||
           (count.action == kStaticCost && hardware.is_powered(component, *part));
  }
  return false;
}

const Cost& cost_of(const CostTable& table, std::string_view part, std::string_view action) {
  const Cost* cost = table.find(part, action);
  if (cost == nullptr) {
    throw std::logic_error(fmt::format("the table '{}' does not price {}.{}", table.name, part, action));
  }
  return *cost;
}

// One value per component that has a part of which `value_of` knows something.
template <typename ValueOf>
ByComponent sum_parts(const Hardware& hardware, const ValueOf& value_of) {
  ByComponent sums;
  for (const Component& component : hardware.components) {
    ByComponent::Value sum{component.name, component.title, component.group, 0};
    bool known = false;
    for (const Part& part : component.parts) {
      if (const std::optional<double> value = value_of(component, part)) {
        sum.value += *value;
        known = true;
      }
    }
    if (known) sums.values.push_back(std::move(sum));
  }
  return sums;
}

// A cost that the machine needs of a part: an action or the area.
void need_cost(const CostTable& table, const Part& part, std::string_view what, const std::string& machine) {
  if (table.find(part.name, what) != nullptr) return;
  const std::string needed = fmt::format("{}.{}", part.name, what);
  std::vector<std::string> known;
  for (const PartCosts& costs : table.parts) {
    for (const auto& [name, cost] : costs.costs) known.push_back(fmt::format("{}.{}", costs.name, name));
  }
  const std::string near = nearest_name(needed, known);
  throw InputError(
      machine, fmt::format("the energy table '{}' has no cost '{}'", table.name, needed),
      fmt::format("add '{}' under parts.{}{}, take another --energy-table, or leave the machine out", what,
                  part.name, near.empty() ? std::string() : fmt::format(" (is '{}' meant for it?)", near)));
}

CostTable at_node(const CostTable& table, int node_nm) {
  return node_nm == 0 ? table : scale_to_node(table, NodeScale::find(node_nm, "--node"));
}

}  // namespace

ByComponent energy_joules(const Hardware& hardware, std::span<const ActionCount> actions,
                          const CostTable& table) {
  ByComponent energy = sum_parts(hardware, [&](const Component& component, const Part& part) {
    const bool acts = !part.actions.empty() || hardware.is_powered(component, part);
    return acts ? std::optional(0.0) : std::nullopt;
  });
  for (const ActionCount& count : actions) {
    if (!declares(hardware, count)) {
      throw std::logic_error(fmt::format("counted {}.{}.{}, which the machine does not declare",
                                         count.component, count.part, count.action));
    }
    std::ranges::find(energy.values, count.component, &ByComponent::Value::name)->value +=
        count.count * cost_of(table, count.part, count.action).si();
  }
  return energy;
}

ByComponent peak_watts(const Hardware& hardware, const CostTable& table) {
  return sum_parts(hardware, [&](const Component&, const Part& part) -> std::optional<double> {
    if (part.units == 0 || !counts(part, kCycle)) return std::nullopt;
    return part.units * cost_of(table, part.name, kCycle).si() * hardware.frequency_mhz * 1e6;
  });
}

ByComponent area_mm2(const Hardware& hardware, const CostTable& table) {
  return sum_parts(hardware, [&](const Component&, const Part& part) -> std::optional<double> {
    if (part.units == 0) return std::nullopt;
    return part.units * cost_of(table, part.name, kAreaCost).si();
  });
}

void check_energy_costs(const CostTable& table, const Hardware& hardware, const std::string& machine) {
  if (table.data_type != hardware.data_type) {
    throw InputError(machine,
                     fmt::format("it computes in {}, the energy table '{}' is of {}", hardware.data_type,
                                 table.name, table.data_type),
                     fmt::format("set arithmetic={}, or take another --energy-table", table.data_type));
  }
  for (const Component& component : hardware.components) {
    for (const Part& part : component.parts) {
      for (const std::string& action : part.actions) need_cost(table, part, action, machine);
      if (hardware.is_powered(component, part)) need_cost(table, part, kStaticCost, machine);
    }
  }
}

void check_area_costs(const CostTable& table, const Hardware& hardware, const std::string& machine) {
  if (!hardware.area_unknown.empty()) throw InputError(machine, hardware.area_unknown, hardware.area_remedy);
  for (const Component& component : hardware.components) {
    for (const Part& part : component.parts) {
      if (part.units > 0) need_cost(table, part, kAreaCost, machine);
    }
  }
}

void check_cost_names(const CostTable& table, std::span<const Hardware> machines) {
  for (const PartCosts& costs : table.parts) {
    std::vector<std::string> parts, actions;
    for (const Hardware& machine : machines) {
      for (const Component& component : machine.components) {
        for (const Part& part : component.parts) {
          parts.push_back(part.name);
          if (part.name != costs.name) continue;
          actions.insert(actions.end(), part.actions.begin(), part.actions.end());
          if (part.units > 0 || part.actions.empty())
            actions.insert(actions.end(), {std::string(kAreaCost), std::string(kStaticCost)});
        }
      }
    }
    const auto known = [](std::vector<std::string>& names, std::string_view name) {
      std::ranges::sort(names);
      names.erase(std::unique(names.begin(), names.end()), names.end());
      return std::ranges::find(names, name) != names.end();
    };
    if (!known(parts, costs.name)) {
      throw InputError(fmt::format("energy table '{}'", table.name),
                       fmt::format("unknown part {}", quote_name(costs.name)), suggest(costs.name, parts));
    }
    for (const auto& [name, cost] : costs.costs) {
      if (known(actions, name)) continue;
      throw InputError(fmt::format("energy table '{}'", table.name),
                       fmt::format("unknown cost {} of '{}'", quote_name(name), costs.name),
                       suggest(name, actions));
    }
  }
}

CostTable energy_table(const std::string& name_or_file, int node_nm, const Hardware& hardware) {
  const CostTable table = name_or_file.empty() ? CostTable::of_data_type(hardware.data_type)
                                               : CostTable::open(name_or_file, "--energy-table");
  return at_node(table, node_nm);
}

CostTable area_table(const std::string& name_or_file, int node_nm, const Hardware& hardware) {
  if (!name_or_file.empty() || hardware.area_table.empty())
    return energy_table(name_or_file, node_nm, hardware);
  return at_node(CostTable::open(hardware.area_table, "area table"), node_nm);
}

}  // namespace lacuna
