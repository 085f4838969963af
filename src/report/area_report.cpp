// Area (and power) as a table for a person and as JSON.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/version.hpp"
#include "energy/outer_area.hpp"
#include "report/component_titles.hpp"
#include "report/energy_report.hpp"
#include "report/json_text.hpp"

namespace lacuna {
namespace {

// The parts of a machine whose PE is the published one.
struct OuterChip {
  int node_nm;
  std::vector<OuterAreaPart> parts;
};
OuterChip outer_chip(const std::string& name, const OuterHardware& h, int node_nm) {
  if (h.n != PublishedPe::kN || h.banks != PublishedPe::kBanks ||
      h.bank_entries != PublishedPe::kBankEntries) {
    throw InputError(name, "no area is published of such a PE",
                     "leave n, banks and bank_entries as they are (4, 32 and 32)");
  }
  const int node = node_nm == 0 ? static_cast<int>(PublishedPe::kNode) : node_nm;
  return {node, outer_area(static_cast<double>(h.pes), h.search_window > 0, node, "--node")};
}

}  // namespace

std::string area_text(const std::string& name, const TileHardware& hardware, const CostTable& table,
                      const TextStyle& style) {
  const ChipParts machine = chip_parts(hardware);
  const ChipParts dense = chip_parts(without_skipping(hardware));
  const ByComponent area = area_mm2(machine, table);
  const ByComponent dense_area = area_mm2(dense, table);
  const ByComponent power = logic_watts(machine, table);
  const ByComponent dense_power = logic_watts(dense, table);
  TextTable rows({{"component", Align::kLeft},
                  {name, Align::kRight, "area, mm2"},
                  {"without skipping", Align::kRight, "area, mm2"},
                  {name, Align::kRight, "power, mW"},
                  {"without skipping", Align::kRight, "power, mW"}});
  const auto mm2 = [](double value) { return value > 0 ? fmt::format("{:.2f}", value) : "-"; };
  const auto mw = [](double value) { return value > 0 ? fmt::format("{:.1f}", value * 1e3) : "-"; };
  const auto ratio = [](double a, double b) { return b > 0 ? fmt::format("{:.4f}x", a / b) : "-"; };
  for (const Component part :
       {Component::kCores, Component::kTransposers, Component::kSchedulersAndBMuxes, Component::kAMuxes}) {
    rows.add_row({std::string(component_title(part)), mm2(area.of(part)), mm2(dense_area.of(part)),
                  mw(power.of(part)), mw(dense_power.of(part))});
  }
  rows.add_rule();
  rows.add_row({"compute", mm2(area.compute()), mm2(dense_area.compute()), mw(power.total()),
                mw(dense_power.total())});
  rows.add_row({"against without skipping", ratio(area.compute(), dense_area.compute()), "",
                ratio(power.total(), dense_power.total()), ""});
  rows.add_rule();
  for (const Component part : {Component::kScratchpads, Component::kSram}) {
    rows.add_row({std::string(component_title(part)), mm2(area.of(part)), mm2(dense_area.of(part)), "", ""});
  }
  rows.add_row({"whole chip", mm2(area.total()), mm2(dense_area.total()), "", ""});
  rows.add_row({"against without skipping", ratio(area.total(), dense_area.total()), "", "", ""});
  return fmt::format(
      "{}\n{}",
      bold_text(fmt::format("{}: {} tiles of {} x {} PEs of {} MACs, {} at {} nm, {} MHz", name,
                            hardware.tiles, hardware.rows, hardware.columns, hardware.lanes,
                            printable(table.name), table.node_nm, hardware.frequency_mhz),
                style),
      rows.render(style));
}

std::string area_json(const std::string& name, const TileHardware& hardware, const CostTable& table) {
  const auto parts = [](const ByComponent& values) {
    JsonLine line;
    for (const Component component : components_of(MachineKind::kTiles))
      line.field(component_name(component), values.of(component));
    return line.field("compute", values.compute()).field("total", values.total()).text();
  };
  const auto machine = [&](const TileHardware& of) {
    const ChipParts chip = chip_parts(of);
    return JsonLine()
        .raw("area_mm2", parts(area_mm2(chip, table)))
        .raw("logic_power_w", parts(logic_watts(chip, table)))
        .text();
  };
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"lacuna\": {},\n  \"name\": {},\n  \"table\": {},\n  \"node_nm\": {},\n  "
      "\"machine\": "
      "{},\n  \"dense\": {}\n}}\n",
      json_string(version()), json_string(name), json_string(table.name), json_number(table.node_nm),
      machine(hardware), machine(without_skipping(hardware)));
}

std::string area_text(const std::string& name, const OuterHardware& hardware, int node_nm,
                      const TextStyle& style) {
  const OuterChip chip = outer_chip(name, hardware, node_nm);
  const auto pes = static_cast<double>(hardware.pes);
  const double total = total_mm2(chip.parts);
  TextTable table({{"component", Align::kLeft}, {"mm2"}, {"share"}, {"mm2 a PE"}, {"source", Align::kLeft}});
  for (const OuterAreaPart& part : chip.parts) {
    table.add_row({std::string(part.title), fmt::format("{:.3f}", part.mm2.value),
                   fmt::format("{:.1f} %", 100 * part.mm2.value / total),
                   fmt::format("{:.4f}", part.mm2.value / pes),
                   fmt::format("{} ({})", part.mm2.source, confidence_letter(part.mm2.confidence))});
  }
  table.add_rule();
  table.add_row({"PEs", fmt::format("{:.3f}", total), "100.0 %", fmt::format("{:.4f}", total / pes), ""});
  std::string text =
      fmt::format("{}\n{}",
                  bold_text(fmt::format("{}: {} PEs of {} x {} multipliers, as published at {} nm{}", name,
                                        hardware.pes, hardware.n, hardware.n, PublishedPe::kNode,
                                        chip.node_nm == PublishedPe::kNode
                                            ? std::string()
                                            : fmt::format(", scaled to {} nm", chip.node_nm)),
                            style),
                  table.render(style));
  text += fmt::format(
      "\nSCNN's parts add up to 0.124 mm2 a PE; the paper prints {} and {} mm2 for 64 PEs, {} for its dense "
      "machine.\nIts arithmetic is of 16 bits with sums of 24, and its chip has no memory around the PEs: "
      "the AM, "
      "BM and CM that\nenergy is counted with are not in here (lacuna arch area dense).\n",
      PublishedPe::kPeMm2, 7.9, PublishedPe::kDenseChipMm2);
  if (hardware.search_window > 0) {
    text +=
        fmt::format("What ANT adds is taken for a PE's; if {} mm2 is the chip's, the PEs are {:.3f} mm2.\n",
                    PublishedPe::kAntAddedMm2, total - chip.parts.back().mm2.value * (pes - 1) / pes);
  }
  return text;
}

std::string area_json(const std::string& name, const OuterHardware& hardware, int node_nm) {
  const OuterChip chip = outer_chip(name, hardware, node_nm);
  JsonLine area;
  std::string sources;
  for (const OuterAreaPart& part : chip.parts) {
    area.field(part.name, part.mm2.value);
    sources += fmt::format("{}\n    {}: {}", sources.empty() ? "" : ",", json_string(part.name),
                           JsonLine()
                               .field("source", std::string_view(part.mm2.source))
                               .field("confidence", fmt::format("{}", confidence_letter(part.mm2.confidence)))
                               .text());
  }
  area.field("total", total_mm2(chip.parts));
  return fmt::format(
      "{{\n  \"schema\": 1,\n  \"lacuna\": {},\n  \"name\": {},\n  \"table\": null,\n  \"node_nm\": {},\n  "
      "\"pes\": {},\n  \"machine\": {},\n  \"sources\": {{{}\n  }}\n}}\n",
      json_string(version()), json_string(name), chip.node_nm, hardware.pes,
      JsonLine().raw("area_mm2", area.text()).text(), sources);
}

}  // namespace lacuna
