#include "reproduce/figures/ant_energy.hpp"

#include <fmt/format.h>
#include <functional>

#include "reproduce/figures/ant_runs.hpp"
#include "reproduce/figures/models.hpp"

namespace lacuna::reproduce {
namespace {

constexpr const char* kScnnShare = "share of SCNN-like, %";
constexpr const char* kAntShare = "share of ANT, %";
constexpr const char* kSaved = "saved / speedup";
constexpr const char* kSavedGated = "saved / speedup, idle logic gated";
constexpr const char* kProducts = "products multiplied (a count)";
constexpr const char* kUsedByBoth = "accumulators, output RAMs, SRAM, DRAM";

struct ComponentRow {
  const char* title;
  std::vector<std::string> parts;  // none: all of them
};

const std::vector<ComponentRow>& component_rows() {
  static const std::vector<ComponentRow> kRows{{"multipliers and adders", {"multipliers"}},
                                               {"coordinates and crossbar", {"coordinates", "crossbar"}},
                                               {"range and search", {"range_search"}},
                                               {"operand RAMs", {"operand_rams"}},
                                               {kUsedByBoth, {"accumulators", "output_rams", "sram", "dram"}},
                                               {"DRAM, static", {"dram_static"}},
                                               {"all", {}}};
  return kRows;
}

double joules(const Run& run, const ComponentRow& row) {
  if (row.parts.empty()) return run.energy.machine.total();
  double sum = 0;
  for (const std::string& part : row.parts) sum += run.energy.machine.of(part);
  return sum;
}

std::vector<std::string> standing_traces() {
  std::vector<std::string> traces;
  for (const AntNetwork& network : ant_networks()) traces.push_back(network.traces[0].trace);
  return traces;
}

double products_multiplied(const Run& run) { return run.counter("executed_products"); }

}  // namespace

FigureTable ant_components_table(const Runs& runs) {
  FigureTable table{.id = "components",
                    .title =
                        "Energy by component, the five networks with ReSprop and SWAT: shares are means, the "
                        "rest geometric means",
                    .row_title = "component",
                    .unit = "",
                    .chart = Chart::kNone};
  const std::vector<std::string> traces = standing_traces();
  const auto saved_over_speedup = [&](const Settings& settings, const std::function<double(const Run&)>& of) {
    return geometric_mean_of(traces, [&](const std::string& trace) {
      const AntNumbers numbers = ant_numbers(runs, trace, settings);
      return of(numbers.scnn) / of(numbers.ant) / numbers.speedup();
    });
  };
  const Settings gated{{"idle_logic", "gated"}};
  for (const ComponentRow& row : component_rows()) {
    const auto share = [&](bool of_ant) {
      return mean_of(traces, [&](const std::string& trace) {
        const AntNumbers numbers = ant_numbers(runs, trace);
        const Run& run = of_ant ? numbers.ant : numbers.scnn;
        return AntNumbers::percent(joules(run, row), run.energy.machine.total());
      });
    };
    table.set(row.title, kScnnShare, share(false)).set(row.title, kAntShare, share(true));
    if (row.parts == std::vector<std::string>{"range_search"}) continue;  // ANT's alone
    const auto of = [&](const Run& run) { return joules(run, row); };
    table.set(row.title, kSaved, saved_over_speedup({}, of))
        .set(row.title, kSavedGated, saved_over_speedup(gated, of));
  }
  table.set(kProducts, kSaved, saved_over_speedup({}, products_multiplied));
  return table;
}

FigureTable ant_saved_table(const FigureInputs& in) {
  FigureTable table{.id = "saved",
                    .title = "What ANT saves over its speedup, by network",
                    .row_title = "trace",
                    .unit = "x",
                    .chart = Chart::kNone};
  for (const AntNetwork& network : ant_networks()) {
    const std::string& trace = network.traces[0].trace;
    const AntNumbers numbers = ant_numbers(in.runs, trace);
    const double products = products_multiplied(numbers.scnn) / products_multiplied(numbers.ant);
    table.set(trace, "energy", 1 / numbers.energy() / numbers.speedup())
        .set(trace, "products", products / numbers.speedup())
        .set(trace, "energy in the paper",
             1 / in.paper.at("energy." + network.name).number() /
                 in.paper.at("speedup." + network.name).number());
  }
  return table;
}

std::string ant_components_note(const FigureTable& components, const FigureTable& saved) {
  std::string by_network;
  for (const std::string& trace : saved.rows) {
    by_network += fmt::format("{}{:.2f} and {:.2f}", by_network.empty() ? "" : ", ",
                              saved.at(trace, "products"), saved.at(trace, "energy in the paper"));
  }
  return fmt::format(
      "Tables components and saved: energy saved / speedup is {:.2f} here and 1.19 in the paper. The logic "
      "saves what the cycles do. The operand RAMs, {:.0f} % of the SCNN-like machine's energy, save {:.2f} "
      "of that, since every search reads indices, and what both machines use alike, {:.0f} % of ANT's, "
      "{:.2f}; gated logic makes both weigh more ({:.2f}). While logic is clocked no part falls more than "
      "the cycles, so that no change of costs reaches 1. Of all that is counted only the products fall "
      "more, {:.2f}: the paper's mean needs an energy per product in which memories hardly count. Network "
      "by network this is not confirmed (products here and the paper's: {}).",
      components.at("all", kSaved), components.at("operand RAMs", kScnnShare),
      components.at("operand RAMs", kSaved), components.at(kUsedByBoth, kAntShare),
      components.at(kUsedByBoth, kSaved), components.at("all", kSavedGated), components.at(kProducts, kSaved),
      by_network);
}

}  // namespace lacuna::reproduce
