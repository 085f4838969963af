#include <fmt/format.h>

#include "report/energy/energy_report.hpp"
#include "report/result/json_text.hpp"

namespace lacuna {
namespace {

std::string joules_json(const ByComponent& parts) {
  JsonLine line;
  for (const ByComponent::Value& part : parts.values) line.field(part.name, part.value);
  return line.field("total", parts.total()).text();
}

JsonLine& append_pair(JsonLine& line, const EnergyComparison& pair) {
  return line.raw("baseline", joules_json(pair.baseline))
      .raw("machine", joules_json(pair.machine))
      .field("compute_efficiency", pair.compute_efficiency())
      .field("chip_efficiency", pair.chip_efficiency())
      .field("compute_efficiency_from_zeros", pair.compute_efficiency_from_zeros())
      .field("chip_efficiency_from_zeros", pair.chip_efficiency_from_zeros());
}

std::string energy_pair_json(const EnergyComparison& pair) {
  JsonLine line;
  return append_pair(line, pair).text();
}

}  // namespace

std::string energy_json(const RunEnergy& energy, bool layers, std::string_view indent) {
  std::string text = fmt::format(
      "{{\n{0}  \"table\": {1},\n{0}  \"node_nm\": {2},\n{0}  \"unit\": \"J\",\n{0}  \"per\": \"batch\",\n",
      indent, json_string(energy.table), json_number(energy.node_nm));
  for (const Operation op : kOperations) {
    text += fmt::format("{}  \"{}\": {},\n", indent, operation_name(op),
                        energy_pair_json(energy.by_operation[static_cast<std::size_t>(op)]));
  }
  text += fmt::format("{}  \"all\": {}", indent, energy_pair_json(energy.all));
  if (layers) {
    text += fmt::format(",\n{}  \"operations\": [", indent);
    bool first = true;
    for (const LayerEnergy& layer : energy.layers) {
      for (const OpEnergy& op : layer.ops) {
        JsonLine line;
        line.field("layer", std::string_view(layer.name)).field("op", operation_name(op.op));
        text += fmt::format("{}\n{}    {}", first ? "" : ",", indent, append_pair(line, op.energy).text());
        first = false;
      }
    }
    text += fmt::format("\n{}  ]", indent);
  }
  return text + fmt::format("\n{}}}", indent);
}

std::string power_json(const RunEnergy& energy) {
  const auto side = [](double average, const std::optional<MachineArea>& area) {
    JsonLine line;
    line.field("average", average);
    if (area && area->peak_watts > 0) line.field("peak_of_logic", area->peak_watts);
    return line.text();
  };
  return JsonLine()
      .field("unit", "W")
      .raw("baseline", side(energy.baseline_watts(), energy.area ? energy.area->baseline : std::nullopt))
      .raw("machine",
           side(energy.machine_watts(), energy.area ? std::optional(energy.area->machine) : std::nullopt))
      .text();
}

std::string area_json(const RunArea& area) {
  const auto side = [](const MachineArea& of) {
    return JsonLine().field("compute", of.compute_mm2).field("total", of.total_mm2).text();
  };
  return JsonLine()
      .field("table", std::string_view(area.table))
      .field("node_nm", area.node_nm)
      .field("unit", "mm2")
      .raw("baseline", area.baseline ? side(*area.baseline) : "null")
      .raw("machine", side(area.machine))
      .text();
}

}  // namespace lacuna
