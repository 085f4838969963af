#include "report/energy/area_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/text/json.hpp"

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

// Area and power columns of the machine and, if there is one, of its baseline.
class AreaTable {
 public:
  AreaTable(const AreaOf& machine, const AreaOf* baseline)
      : own_(machine),
        baseline_(baseline == nullptr ? std::nullopt : std::optional<Values>(*baseline)),
        with_power_(own_.power.total() > 0),
        table_(columns(machine, baseline, with_power_)) {}

  std::string render(const TextStyle& style) {
    for (const ByComponent::Value& part : own_.area.values) {
      if (part.group == ComponentGroup::kCore) component_row(part);
    }
    table_.add_rule();
    sum_rows(
        "compute", [](const ByComponent& values) { return values.compute(); }, true);
    table_.add_rule();
    for (const ByComponent::Value& part : own_.area.values) {
      if (part.group != ComponentGroup::kCore) component_row(part);
    }
    sum_rows(
        "whole chip", [](const ByComponent& values) { return values.total(); }, false);
    return table_.render(style);
  }

 private:
  static std::vector<TableColumn> columns(const AreaOf& machine, const AreaOf* baseline, bool with_power) {
    std::vector<TableColumn> columns{{"component", Align::kLeft}, {machine.name, Align::kRight, "area, mm2"}};
    if (baseline != nullptr) columns.push_back({baseline->name, Align::kRight, "area, mm2"});
    columns.push_back({"share", Align::kRight, "area, mm2"});
    if (with_power) {
      columns.push_back({machine.name, Align::kRight, "peak power, mW"});
      if (baseline != nullptr) columns.push_back({baseline->name, Align::kRight, "peak power, mW"});
    }
    return columns;
  }

  void row(std::string title, const std::string& area, const std::string& baseline_area,
           const std::string& share, const std::string& power, const std::string& baseline_power) {
    std::vector<std::string> cells{std::move(title), area};
    if (baseline_) cells.push_back(baseline_area);
    cells.push_back(share);
    if (with_power_) {
      cells.push_back(power);
      if (baseline_) cells.push_back(baseline_power);
    }
    table_.add_row(std::move(cells));
  }

  std::string share_of(double area) const { return fmt::format("{:.1f} %", 100 * area / own_.area.total()); }

  void component_row(const ByComponent::Value& part) {
    row(part.title, mm2(part.value), baseline_ ? mm2(baseline_->area.of(part.name)) : "",
        share_of(part.value), mw(own_.power.of(part.name)),
        baseline_ ? mw(baseline_->power.of(part.name)) : "");
  }

  template <typename Sum>
  void sum_rows(const char* title, const Sum& sum, bool power) {
    row(title, mm2(sum(own_.area)), baseline_ ? mm2(sum(baseline_->area)) : "", share_of(sum(own_.area)),
        power ? mw(sum(own_.power)) : "", power && baseline_ ? mw(sum(baseline_->power)) : "");
    if (!baseline_) return;
    row("  relative to the baseline", ratio(sum(own_.area), sum(baseline_->area)), "", "",
        power ? ratio(sum(own_.power), sum(baseline_->power)) : "", "");
  }

  Values own_;
  std::optional<Values> baseline_;
  bool with_power_;
  TextTable table_;
};

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

Json machine_json(const AreaOf& of, const AreaOf* baseline) {
  Json object = values_json(of);
  object["description"] = of.hardware.description;
  object["table"] = of.table.name;
  object["node_nm"] = number_json(of.table.node_nm);
  object["frequency_mhz"] = number_json(of.hardware.frequency_mhz);
  object["baseline"] = baseline == nullptr ? Json() : values_json(*baseline);
  Json& from = object["sources"] = Json::object();
  for (const ByComponent::Value& part : area_mm2(of.hardware, of.table).values)
    from[part.name] = sources(of, part.name);
  return object;
}

}  // namespace

std::string area_text(const AreaOf& machine, const AreaOf* baseline, const TextStyle& style) {
  std::string text =
      fmt::format("{}\n{}",
                  bold_text(fmt::format("{}: {}, {} at {} nm, {} MHz", machine.name,
                                        machine.hardware.description, printable(machine.table.name),
                                        machine.table.node_nm, machine.hardware.frequency_mhz),
                            style),
                  AreaTable(machine, baseline).render(style));
  for (const std::string& note : machine.table.notes) text += fmt::format("\n{}", printable(note));
  return text + (machine.table.notes.empty() ? "" : "\n");
}

std::string areas_text(const std::vector<AreaOf>& machines, const TextStyle& style) {
  std::vector<Values> values(machines.begin(), machines.end());
  std::vector<TableColumn> columns{{"component", Align::kLeft}};
  for (const AreaOf& of : machines) columns.push_back({of.name, Align::kRight, "area, mm2"});
  for (const AreaOf& of : machines) columns.push_back({of.name, Align::kRight, "peak power, mW"});
  TextTable table(std::move(columns));
  const auto row = [&](const std::string& title, const auto& area, const auto& power) {
    std::vector<std::string> cells{title};
    for (const Values& of : values) cells.push_back(mm2(area(of.area)));
    for (const Values& of : values) cells.push_back(mw(power(of.power)));
    table.add_row(std::move(cells));
  };
  const auto components = [&](bool core) {
    std::vector<std::string> seen;
    for (const Values& of : values) {
      for (const ByComponent::Value& part : of.area.values) {
        if ((part.group == ComponentGroup::kCore) != core || std::ranges::find(seen, part.name) != seen.end())
          continue;
        seen.push_back(part.name);
        const auto own = [&](const ByComponent& parts) { return parts.of(part.name); };
        row(part.title, own, own);
      }
    }
  };
  components(true);
  table.add_rule();
  row(
      "compute", [](const ByComponent& v) { return v.compute(); },
      [](const ByComponent& v) { return v.compute(); });
  table.add_rule();
  components(false);
  row(
      "whole chip", [](const ByComponent& v) { return v.total(); }, [](const ByComponent&) { return 0.0; });
  std::string text = fmt::format("{}\n{}\n", bold_text("Area and peak power", style), table.render(style));
  std::vector<std::string> notes;
  for (const AreaOf& of : machines) {
    text += fmt::format("{}: {}, {} at {} nm, {} MHz\n", of.name, of.hardware.description,
                        printable(of.table.name), of.table.node_nm, of.hardware.frequency_mhz);
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

std::string areas_json(const std::vector<AreaOf>& machines,
                       const std::vector<std::optional<AreaOf>>& baselines) {
  Json document = json_document(2);
  Json& list = document["machines"] = Json::array();
  for (std::size_t i = 0; i < machines.size(); ++i)
    list.push_back(machine_json(machines[i], baselines[i] ? &*baselines[i] : nullptr));
  return dump_json(document);
}

}  // namespace lacuna
