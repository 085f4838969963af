#include "report/energy/energy_report.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

Json joules_json(const ByComponent& parts) {
  Json object = Json::object();
  for (const ByComponent::Value& part : parts.values) object[part.name] = number_json(part.value);
  object["total"] = number_json(parts.total());
  return object;
}

void append_energy(Json& object, const EnergyComparison& energy) {
  object["baseline"] = joules_json(energy.baseline);
  object["machine"] = joules_json(energy.machine);
  for (const EnergyField& field : kEnergyFields)
    object[std::string(field.name)] = number_json(std::get<double>(field.get(energy)));
}

Json comparison_json(const EnergyComparison& energy) {
  Json object;
  append_energy(object, energy);
  return object;
}

}  // namespace

Json energy_json(const RunEnergy& energy, bool layers) {
  Json object{
      {"table", energy.table}, {"node_nm", number_json(energy.node_nm)}, {"unit", "J"}, {"per", "batch"}};
  for (const Operation op : kOperations)
    object[std::string(operation_name(op))] = comparison_json(energy.by_operation[op]);
  object["all"] = comparison_json(energy.all);
  if (!layers) return object;
  Json& operations = object["operations"] = Json::array();
  for (const LayerEnergy& layer : energy.layers) {
    for (const OpEnergy& op : layer.ops) {
      Json entry{{"layer", layer.name}, {"op", operation_name(op.op)}};
      append_energy(entry, op.energy);
      operations.push_back(std::move(entry));
    }
  }
  return object;
}

Json power_json(const RunEnergy& energy) {
  const auto side = [](double average, const std::optional<MachineArea>& area) {
    Json watts{{"average", number_json(average)}};
    if (area && area->peak_watts > 0) watts["peak_of_logic"] = number_json(area->peak_watts);
    return watts;
  };
  const auto& area = energy.area;
  return {{"unit", "W"},
          {"baseline", side(energy.baseline_watts(), area ? area->baseline : std::nullopt)},
          {"machine", side(energy.machine_watts(), area ? std::optional(area->machine) : std::nullopt)}};
}

Json area_json(const RunArea& area) {
  const auto side = [](const MachineArea& of) -> Json {
    return {{"compute", number_json(of.compute_mm2)}, {"total", number_json(of.total_mm2)}};
  };
  return {{"table", area.table},
          {"node_nm", number_json(area.node_nm)},
          {"unit", "mm2"},
          {"baseline", area.baseline ? side(*area.baseline) : Json()},
          {"machine", side(area.machine)}};
}

}  // namespace lacuna
