// TensorDash's energy, in FP32 and bfloat16, and a model without zeros.
#include <fmt/format.h>

#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {
namespace {

const Settings kSquare{{"tile_grid", "square"}};
const Settings kBfloat16{{"arithmetic", "bfloat16"}};
const Settings kBfloat16Square{{"arithmetic", "bfloat16"}, {"tile_grid", "square"}};

std::string joined(const Settings& settings) {
  return settings.empty() ? "default grid of tiles" : "tile_grid=square";
}

// Speedup, compute and whole-chip efficiency by model. `keys`: of the paper's compute and chip efficiency.
FigureTable efficiency_table(const FigureInputs& in, const std::string& id, const std::string& title,
                             const Settings& settings, const std::string& keys) {
  FigureTable table{.id = id, .title = title, .row_title = "model", .unit = "x"};
  const auto run = [&](const std::string& m) -> const Run& {
    return in.runs.run(last_trace(m), "tensordash", settings);
  };
  const auto speedup = [&](const std::string& m) { return run(m).batch.all.speedup(); };
  const auto compute = [&](const std::string& m) { return run(m).energy.compute_efficiency(); };
  const auto chip = [&](const std::string& m) { return run(m).energy.chip_efficiency(); };
  for (const std::string& m : paper_models())
    table.set(m, "speedup", speedup(m)).set(m, "compute", compute(m)).set(m, "whole chip", chip(m));
  const double mean_speedup = mean_of(paper_models(), speedup),
               mean_compute = mean_of(paper_models(), compute);
  const double core = mean_of(paper_models(), [&](const std::string& m) {
    return run(m).energy.baseline.compute() / run(m).energy.baseline.total();
  });
  const double needed =
      (1 - 1 / in.paper.at(keys + ".chip").number) / (1 - 1 / in.paper.at(keys + ".compute").number);
  const Reason slower{
      fmt::format("compute efficiency is speedup x {:.4f}, and our traces give {:.2f}x where the paper's "
                  "give {:.2f}x (Fig. 13)",
                  mean_compute / mean_speedup, mean_speedup, in.paper.at("fig13.mean").number),
      {"A2", "A16"}};
  const Reason memory{
      fmt::format("the lower speedup, and a core share of {:.0f} % of the baseline's energy where the "
                  "paper's two numbers need "
                  "{:.0f} %: networks of 1x1 convolutions with batch normalisation move more bytes per MAC",
                  100 * core, 100 * needed),
      {"A2", "A11", "A14", "A16"}};
  table.set(kMeanRow, "speedup", mean_speedup);
  table.set(kMeanRow, "compute", mean_compute, keys + ".compute", slower);
  table.set(kMeanRow, "whole chip", mean_of(paper_models(), chip), keys + ".chip", memory);
  const std::vector<std::string> seven = first_seven_models();
  table.set(kMeanOfSevenRow, "speedup", mean_of(seven, speedup))
      .set(kMeanOfSevenRow, "compute", mean_of(seven, compute));
  table.set(kMeanOfSevenRow, "whole chip", mean_of(seven, chip));
  const char* geometric = "geometric mean of the eight";
  table.set(geometric, "speedup", geometric_mean_of(paper_models(), speedup));
  table.set(geometric, "compute", geometric_mean_of(paper_models(), compute));
  table.set(geometric, "whole chip", geometric_mean_of(paper_models(), chip));
  return table;
}

FigureResult make_fig15(const FigureInputs& in) {
  return {{efficiency_table(in, "fp32", "Energy of the baseline / energy of TensorDash, FP32, " + joined({}),
                            {}, "fig15"),
           efficiency_table(in, "fp32_square", "The same with " + joined(kSquare), kSquare, "fig15")},
          {"One training step with the whole batch, 16 tiles, ideal memory timing. The costs of memories are "
           "calibrated on what the paper "
           "prints (A11), not known."}};
}

FigureResult make_fig16(const FigureInputs& in) {
  FigureTable table{.id = "share",
                    .title = "Energy in percent of the baseline's total",
                    .row_title = "model",
                    .unit = "%",
                    .digits = 1};
  const std::pair<const char*, ComponentGroup> groups[] = {
      {"core", ComponentGroup::kCore}, {"SRAM", ComponentGroup::kSram}, {"DRAM", ComponentGroup::kDram}};
  for (const std::string& model : paper_models()) {
    const EnergyComparison& energy = in.runs.run(last_trace(model), "tensordash").energy;
    const double whole = energy.baseline.total() / 100;
    for (const auto& [name, group] : groups) {
      const bool words = group == ComponentGroup::kCore;
      table.set(model, fmt::format("baseline: {}", name), energy.baseline.group(group) / whole,
                words ? "fig16.core" : "");
    }
    for (const auto& [name, group] : groups)
      table.set(model, fmt::format("TensorDash: {}", name), energy.machine.group(group) / whole);
    table.set(model, "TensorDash: all", energy.machine.total() / whole);
  }
  return {{table}, {"FP32, 16 tiles, the default grid of tiles."}};
}

FigureResult make_bfloat16(const FigureInputs& in) {
  return {{efficiency_table(in, "bfloat16",
                            "Energy of the baseline / energy of TensorDash, bfloat16, " + joined({}),
                            kBfloat16, "bfloat16"),
           efficiency_table(in, "bfloat16_square", "The same with " + joined(kSquare), kBfloat16Square,
                            "bfloat16")},
          {"The costs of bfloat16 logic are what gives the paper's two ratios of area and power (A17): "
           "table3 shows them."}};
}

FigureResult make_gcn(const FigureInputs& in) {
  const Run& plain = in.runs.run("gcn_p100", "tensordash");
  const Run& gated = in.runs.run("gcn_p100", "tensordash-gated");
  FigureTable table{.id = "gcn",
                    .title = "A model without zeros: a gated convolutional language model",
                    .row_title = "machine",
                    .unit = "x",
                    .digits = 4};
  table.set("TensorDash", "speedup", plain.batch.all.speedup(), "gcn.speedup",
            {"our trace has next to no zeros; in the paper a few layers have about 5 %", {}});
  table.set("TensorDash", "compute efficiency", plain.energy.compute_efficiency());
  table.set("TensorDash", "whole-chip efficiency", plain.energy.chip_efficiency(), "gcn.efficiency",
            {"without zeros the 1.8 % of the added logic's power is not earned back", {"A16"}});
  table.set("with power gating", "speedup", gated.batch.all.speedup());
  table.set("with power gating", "compute efficiency", gated.energy.compute_efficiency());
  table.set("with power gating", "whole-chip efficiency", gated.energy.chip_efficiency());
  return {{table}, {"The paper's power gating (section 3.5) has no threshold; ours is 5 % zeros (A7)."}};
}

}  // namespace

std::vector<Figure> tensordash_energy_figures() {
  Figure fig15{.id = "fig15",
               .title = "Energy efficiency of TensorDash",
               .paper = "tensordash",
               .place = "Fig. 15, section 4.3",
               .make = make_fig15};
  Figure fig16{.id = "fig16",
               .title = "Energy of TensorDash and the baseline by component",
               .paper = "tensordash",
               .place = "Fig. 16, section 4.3",
               .make = make_fig16};
  Figure bfloat16{.id = "bfloat16",
                  .title = "Energy efficiency of TensorDash in bfloat16",
                  .paper = "tensordash",
                  .place = "section 4.4",
                  .make = make_bfloat16};
  Figure gcn{.id = "gcn",
             .title = "A model with virtually no zeros",
             .paper = "tensordash",
             .place = "section 4.4",
             .runs = {{"gcn_p100", "tensordash"}, {"gcn_p100", "tensordash-gated"}},
             .make = make_gcn};
  for (const std::string& model : paper_models()) {
    const std::string trace = last_trace(model);
    fig15.runs.push_back({trace, "tensordash"});
    fig15.runs.push_back({trace, "tensordash", kSquare});
    fig16.runs.push_back({trace, "tensordash"});
    bfloat16.runs.push_back({trace, "tensordash", kBfloat16});
    bfloat16.runs.push_back({trace, "tensordash", kBfloat16Square});
  }
  return {fig15, fig16, bfloat16, gcn};
}

}  // namespace lacuna::reproduce
