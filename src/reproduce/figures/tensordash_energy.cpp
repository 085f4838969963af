// TensorDash's energy, in FP32 and bfloat16, and a model without zeros.
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

// The former way to deal work to tiles (A2).
const Settings kTilesInBlocks{{"tile_grid", "rows"}, {"tile_dealing", "blocks"}};

constexpr std::pair<const char*, ComponentGroup> kGroups[] = {
    {"core", ComponentGroup::kCore}, {"SRAM", ComponentGroup::kSram}, {"DRAM", ComponentGroup::kDram}};

// Speedup, compute and whole-chip efficiency by model, and the share of the core in the baseline's energy,
// with which the speedup reaches the whole chip. `keys`: of the paper's compute and chip efficiency.
void add_efficiency(const FigureInputs& in, const std::string& id, const std::string& title,
                    const Settings& settings, const std::string& keys, FigureResult& result) {
  const auto energy = [&in, settings](const std::string& trace) {
    return in.runs.run(trace, "tensordash", settings).energy;
  };
  FigureTable table =
      by_model(in.runs, {.id = id, .title = title, .row_title = "model", .unit = "x"},
               {speedup_column(in.runs, {"speedup", "tensordash", settings}),
                {"compute", [&](const std::string& trace) { return energy(trace).compute_efficiency(); }},
                {"whole chip", [&](const std::string& trace) { return energy(trace).chip_efficiency(); }}});
  FigureTable core =
      by_model(in.runs,
               {.id = id + "_core",
                .title = "Core, share of the baseline's energy: " + title,
                .row_title = "model",
                .unit = "%",
                .digits = 0,
                .chart = Chart::kNone},
               {{"core", [&](const std::string& trace) {
                   return 100 * energy(trace).baseline.compute() / energy(trace).baseline.total();
                 }}});
  const double needed = 100 * (1 - 1 / in.paper.at(keys + ".chip").number()) /
                        (1 - 1 / in.paper.at(keys + ".compute").number());
  core.set("the paper's two numbers need", "core", needed);
  table.compare(kMeanRow, "compute", keys + ".compute",
                {fmt::format("compute efficiency is speedup x {:.4f}, and the speedup is {:.2f}x here, "
                             "{:.2f}x in the paper: fig13 has where the rest goes",
                             table.at(kMeanRow, "compute") / table.at(kMeanRow, "speedup"),
                             table.at(kMeanRow, "speedup"), in.paper.at("fig13.mean").number()),
                 {"A2", "A16"},
                 {fmt::format("{}/{}/speedup", id, kMeanRow)}});
  table.compare(kMeanRow, "whole chip", keys + ".chip",
                {fmt::format("the lower speedup, and a core share of {:.0f} % of the baseline's energy where "
                             "the paper's two numbers need {:.0f} %",
                             core.at(kMeanRow, "core"), needed),
                 {"A2", "A11", "A14", "A16"},
                 {fmt::format("{}/{}/speedup", id, kMeanRow), fmt::format("{}_core/{}/core", id, kMeanRow)}});
  for (const std::string& column : std::vector<std::string>(table.columns)) {
    table.set("geometric mean of the eight", column,
              geometric_mean_of(paper_models(), [&](const std::string& m) { return table.at(m, column); }));
  }
  result.tables.push_back(table);
  result.tables.push_back(core);
}

FigureResult make_fig15(const FigureInputs& in) {
  FigureResult result{{},
                      {"One training step with the whole batch, 16 tiles, ideal memory timing. The costs of "
                       "memories are calibrated on what the paper prints (A11), not known."}};
  add_efficiency(in, "fp32", "Energy of the baseline / energy of TensorDash, FP32, default grid of tiles", {},
                 "fig15", result);
  add_efficiency(in, "fp32_rows", "The same with tile_grid=rows, tile_dealing=blocks", kTilesInBlocks,
                 "fig15", result);
  std::vector<Column> columns;
  for (const char* choice : {"clocked", "switching", "gated", "gated-baseline"}) {
    const auto energy = [&in, choice](const std::string& trace) {
      return in.runs.run(trace, "tensordash", {{"zero_operands", choice}}).energy;
    };
    columns.push_back({fmt::format("{}: compute", choice),
                       [energy](const std::string& trace) { return energy(trace).compute_efficiency(); }});
    columns.push_back({fmt::format("{}: whole chip", choice),
                       [energy](const std::string& trace) { return energy(trace).chip_efficiency(); }});
  }
  result.tables.push_back(by_model(in.runs,
                                   {.id = "zero_operands",
                                    .title = "Efficiency by the energy of multipliers with a zero operand",
                                    .row_title = "model",
                                    .unit = "x"},
                                   columns));
  result.notes.push_back(
      "zero_operands (A16): clocked: as any other, as Table 3 has it; switching: 0.49 of it, so that a cycle "
      "that skips zeros costs more, as in our RTL; gated: the multiplier is off (section 3 gives this to the "
      "baseline); gated-baseline: that of the baseline alone.");
  return result;
}

FigureResult make_bfloat16(const FigureInputs& in) {
  FigureResult result{{},
                      {"The costs of bfloat16 logic are what gives the paper's two ratios of area and power "
                       "(A17): table3 shows them."}};
  const std::pair<std::string, std::string> type{"arithmetic", "bfloat16"};
  add_efficiency(in, "bfloat16",
                 "Energy of the baseline / energy of TensorDash, bfloat16, default grid of tiles", {type},
                 "bfloat16", result);
  Settings in_blocks = kTilesInBlocks;
  in_blocks.push_back(type);
  add_efficiency(in, "bfloat16_rows", "The same with tile_grid=rows, tile_dealing=blocks", in_blocks,
                 "bfloat16", result);
  return result;
}

FigureResult make_fig16(const FigureInputs& in) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& title,
                       const std::function<double(const EnergyComparison&)>& joules) {
    columns.push_back({title, [&in, joules](const std::string& trace) {
                         const EnergyComparison& energy = in.runs.run(trace, "tensordash").energy;
                         return 100 * joules(energy) / energy.baseline.total();
                       }});
  };
  for (const auto& [name, group] : kGroups)
    add(fmt::format("baseline: {}", name), [of = group](const auto& e) { return e.baseline.group(of); });
  for (const auto& [name, group] : kGroups)
    add(fmt::format("TensorDash: {}", name), [of = group](const auto& e) { return e.machine.group(of); });
  add("TensorDash: all", [](const auto& e) { return e.machine.total(); });
  FigureTable table = by_model(in.runs,
                               {.id = "components",
                                .title = "Energy in percent of the baseline's total",
                                .row_title = "model",
                                .unit = "%",
                                .digits = 1},
                               columns);
  for (const std::string& model : paper_models()) {
    table.compare(model, "baseline: core", "fig16.core",
                  {fmt::format("{:.0f} % goes to DRAM: the weights of linear layers and of a recurrent "
                               "network are read for few samples",
                               table.at(model, "baseline: DRAM")),
                   {"A11"},
                   {fmt::format("components/{}/baseline: DRAM", model)}});
  }
  return {{table}, {"FP32, 16 tiles, the default grid of tiles."}};
}

FigureResult make_gcn(const FigureInputs& in) {
  const Run& plain = in.runs.run("gcn_p100", "tensordash");
  FigureTable table{.id = "gcn",
                    .title = "A model without zeros: a gated convolutional language model",
                    .row_title = "machine",
                    .unit = "x",
                    .digits = 4};
  const auto add = [&](const char* row, const char* trace, const char* arch) {
    const Run& run = in.runs.run({trace, arch, {}, true});
    table.set(row, "potential", in.runs.potential(trace).per_batch.all.speedup().value_or(0))
        .set(row, "speedup", run.batch.all.speedup())
        .set(row, "from zeros", run.batch.all.speedup_from_zeros())
        .set(row, "compute efficiency", run.energy.compute_efficiency())
        .set(row, "whole-chip efficiency", run.energy.chip_efficiency());
  };
  const char* unpadded = "TensorDash, recorded without padding";
  add("TensorDash", "gcn_p100", "tensordash");
  add("with power gating", "gcn_p100", "tensordash-gated");
  add(unpadded, "gcn_unpadded_p100", "tensordash");
  // With the paper's speedup the logic would run for a shorter time, and nothing else would change.
  const double speedup = in.paper.at("gcn.speedup").number();
  const EnergyComparison& energy = plain.energy;
  const double saved = energy.machine.compute() * (1 - plain.batch.all.speedup() / speedup);
  const char* faster = "TensorDash, if it were as fast as in the paper";
  table.set(faster, "speedup", speedup)
      .set(faster, "compute efficiency", energy.baseline.compute() / (energy.machine.compute() - saved))
      .set(faster, "whole-chip efficiency", energy.baseline.total() / (energy.machine.total() - saved));
  table.compare(
      "TensorDash", "speedup", "gcn.speedup",
      {fmt::format("the only zeros are padding, 4.5 % of each layer's input: at best {:.4f}x, and {:.4f}x "
                   "in a training that pads nothing; in the paper a few layers have about 5 %",
                   table.at("TensorDash", "potential"), table.at(unpadded, "potential")),
       {},
       {"gcn/TensorDash/potential", fmt::format("gcn/{}/potential", unpadded)}});
  table.compare("TensorDash", "whole-chip efficiency", "gcn.efficiency",
                {fmt::format("without zeros the power of the added logic is not earned back; with the "
                             "paper's speedup it would be {:.4f}x",
                             table.at(faster, "whole-chip efficiency")),
                 {"A16"},
                 {fmt::format("gcn/{}/whole-chip efficiency", faster)}});
  return {
      {table},
      {"The paper's power gating (section 3.5) has no threshold; ours is 5 % zeros (A7). Without padding the "
       "numbers of positions are no multiples of 16, which leaves lanes of A*G empty: all of that speedup."}};
}

}  // namespace

std::vector<Figure> tensordash_energy_figures() {
  return {
      {"fig15", "Energy efficiency of TensorDash", "tensordash", "Fig. 15, section 4.3", make_fig15},
      {"fig16", "Energy of TensorDash and the baseline by component", "tensordash", "Fig. 16, section 4.3",
       make_fig16},
      {"bfloat16", "Energy efficiency of TensorDash in bfloat16", "tensordash", "section 4.4", make_bfloat16},
      {"gcn", "A model with virtually no zeros", "tensordash", "section 4.4", make_gcn}};
}

}  // namespace lacuna::reproduce
