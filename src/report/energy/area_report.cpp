#include "report/energy/area_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>

#include "base/text/json.hpp"
#include "report/short_text.hpp"

namespace lacuna {
namespace {

struct Values {
  ByComponent area;   // mm2
  ByComponent power;  // W

  explicit Values(const AreaOf& of)
      : area(area_mm2(of.hardware, of.table)), power(peak_watts(of.hardware, of.table)) {}
};

std::string mm2(double value) { return value > 0 ? fmt::format("{:.3f}", value) : "-"; }
std::string mw(double value) { return value > 0 ? fmt::format("{:.1f}", value * 1e3) : "-"; }
std::string ratio(double a, double b) { return b > 0 ? fmt::format("{:.4f}x", a / b) : "-"; }

// The table's numbers behind a component's area, each once: "SCNN ISCA 2017, PE area table (H)".
std::string sources(const AreaOf& of, const std::string& component) {
  std::string text;
  const auto at = std::ranges::find(of.hardware.components, component, &Component::name);
  if (at == of.hardware.components.end()) return text;
  for (const Part& part : at->parts) {
    if (part.units == 0) continue;
    const Cost& cost = *of.table.find(part.name, kAreaCost);
    const std::string source = fmt::format("{} ({})", cost.source, confidence_letter(cost.confidence));
    if (text.find(source) == std::string::npos) text += (text.empty() ? "" : "; ") + source;
  }
  return text;
}

// "TensorDash: 16 tiles, 65nm-fp32 at 65 nm, 500 MHz"
std::string description(const AreaOf& of) {
  return fmt::format("{}: {}, {} at {} nm, {} MHz", of.name, of.hardware.description,
                     printable(of.table.name), of.table.node_nm, of.hardware.frequency_mhz);
}

// Area and power of the machine and, if there is one, of its baseline.
TextTable area_table(const AreaOf& machine) {
  const Values own(machine);
  const auto baseline = machine.baseline ? std::optional<Values>(*machine.baseline) : std::nullopt;
  std::vector<std::string> names{machine.name};
  if (baseline) names.push_back(machine.baseline->name);
  std::vector<ColumnGroup> groups{{"area, mm2", names}};
  groups.front().titles.emplace_back("share");
  const bool with_power = own.power.total() > 0;
  if (with_power) groups.push_back({"peak power, mW", names});
  TextTable table(with_groups({{"component", Align::kLeft}}, groups));

  const auto add = [&](const std::string& title, const std::string& area, const std::string& baseline_area,
                       const std::string& share, const std::string& power,
                       const std::string& baseline_power) {
    std::vector<std::string> cells{title, area};
    if (baseline) cells.push_back(baseline_area);
    cells.push_back(share);
    if (with_power) cells.push_back(power);
    if (with_power && baseline) cells.push_back(baseline_power);
    table.add_row(std::move(cells));
  };
  const auto add_values = [&](const std::string& title, const auto& pick, bool power) {
    const double area = std::invoke(pick, own.area);
    add(title, mm2(area), baseline ? mm2(std::invoke(pick, baseline->area)) : "",
        fmt::format("{:.1f} %", 100 * area / own.area.total()), power ? mw(std::invoke(pick, own.power)) : "",
        power && baseline ? mw(std::invoke(pick, baseline->power)) : "");
  };
  const auto add_sum = [&](const std::string& title, double (ByComponent::*sum)() const, bool power) {
    add_values(title, sum, power);
    if (!baseline) return;
    add("  relative to the baseline", ratio((own.area.*sum)(), (baseline->area.*sum)()), "", "",
        power ? ratio((own.power.*sum)(), (baseline->power.*sum)()) : "", "");
  };
  const auto add_components = [&](bool core) {
    for (const ByComponent::Value& part : own.area.values) {
      if ((part.group == ComponentGroup::kCore) != core) continue;
      add_values(
          part.title, [&](const ByComponent& parts) { return parts.of(part.name); }, true);
    }
  };
  add_components(true);
  table.add_rule();
  add_sum("compute", &ByComponent::compute, true);
  table.add_rule();
  add_components(false);
  add_sum("whole chip", &ByComponent::total, false);
  return table;
}

Json parts_json(const ByComponent& values) {
  Json object;
  for (const ByComponent::Value& part : values.values) object[part.name] = number_json(part.value);
  object["compute"] = number_json(values.compute());
  object["total"] = number_json(values.total());
  return object;
}

Json values_json(const AreaOf& of) {
  const Values values(of);
  return {
      {"name", of.name}, {"area_mm2", parts_json(values.area)}, {"peak_power_w", parts_json(values.power)}};
}

Json machine_json(const AreaOf& of) {
  Json object = values_json(of);
  object["description"] = of.hardware.description;
  object["table"] = of.table.name;
  object["node_nm"] = number_json(of.table.node_nm);
  object["frequency_mhz"] = number_json(of.hardware.frequency_mhz);
  object["baseline"] = of.baseline ? values_json(*of.baseline) : Json();
  Json& from = object["sources"] = Json::object();
  for (const ByComponent::Value& part : area_mm2(of.hardware, of.table).values)
    from[part.name] = sources(of, part.name);
  return object;
}

}  // namespace

std::string area_text(const AreaOf& machine, const TextStyle& style) {
  std::string text =
      fmt::format("{}\n{}", bold_text(description(machine), style), area_table(machine).render(style));
  for (const std::string& note : machine.table.notes) text += fmt::format("\n{}", printable(note));
  return text + (machine.table.notes.empty() ? "" : "\n");
}

std::string areas_text(const std::vector<AreaOf>& machines, const TextStyle& style) {
  std::vector<Values> values(machines.begin(), machines.end());
  std::vector<std::string> names;
  for (const AreaOf& of : machines) names.push_back(of.name);
  TextTable table(
      with_groups({{"component", Align::kLeft}}, {{"area, mm2", names}, {"peak power, mW", names}}));
  const auto row = [&](const std::string& title, const auto& pick, bool power = true) {
    std::vector<std::string> cells{title};
    for (const Values& of : values) cells.push_back(mm2(std::invoke(pick, of.area)));
    for (const Values& of : values) cells.push_back(power ? mw(std::invoke(pick, of.power)) : "-");
    table.add_row(std::move(cells));
  };
  const auto components = [&](bool core) {
    std::vector<std::string> seen;
    for (const Values& of : values) {
      for (const ByComponent::Value& part : of.area.values) {
        if ((part.group == ComponentGroup::kCore) != core || std::ranges::find(seen, part.name) != seen.end())
          continue;
        seen.push_back(part.name);
        row(part.title, [&](const ByComponent& parts) { return parts.of(part.name); });
      }
    }
  };
  components(true);
  table.add_rule();
  row("compute", &ByComponent::compute);
  table.add_rule();
  components(false);
  row("whole chip", &ByComponent::total, false);
  std::string text = fmt::format("{}\n{}\n", bold_text("Area and peak power", style), table.render(style));
  std::vector<std::string> notes;
  for (const AreaOf& of : machines) {
    text += description(of) + "\n";
    for (const std::string& note : of.table.notes) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
  }
  for (const std::string& note : notes) text += fmt::format("\n{}", printable(note));
  text += notes.empty() ? "" : "\n";
  const auto other_node = [&](const AreaOf& of) {
    return of.table.node_nm != machines.front().table.node_nm;
  };
  if (std::ranges::any_of(machines, other_node))
    text += "\nwarning: areas of different nodes do not compare ('--node NM' scales logic and SRAM)\n";
  return text;
}

std::string areas_json(const std::vector<AreaOf>& machines) {
  Json document = json_document(2);
  Json& list = document["machines"] = Json::array();
  for (const AreaOf& machine : machines) list.push_back(machine_json(machine));
  return dump_json(document);
}

}  // namespace lacuna
