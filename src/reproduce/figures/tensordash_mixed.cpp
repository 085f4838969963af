// The abstract of TensorDash at MICRO 2020 compared with `tensordash-mixed`.
#include <fmt/format.h>

#include "energy/energy.hpp"
#include "reproduce/figure.hpp"
#include "reproduce/figures/models.hpp"
#include "reproduce/paper_values.hpp"
#include "reproduce/runs.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/simulation.hpp"

namespace lacuna::reproduce {
namespace {

constexpr const char* kMixed = "tensordash-mixed";

FigureTable mixed_area() {
  Simulation machines;
  machines.add(kMixed, ArchCatalog().find(kMixed, "reproduce").build());
  const Hardware hardware = *machines.machine(0).hardware(), baseline = *machines.baseline(0).hardware();
  const CostTable costs = energy_table("", 0, hardware);
  const ByComponent ours = area_mm2(hardware, costs), theirs = area_mm2(baseline, costs);
  FigureTable table{.id = "area",
                    .title = "Area with TensorDash / area without",
                    .row_title = "of",
                    .unit = "x",
                    .digits = 4,
                    .chart = Chart::kNone};
  table.set("compute logic", "area", ours.compute() / theirs.compute());
  table.set("whole chip", "area", ours.total() / theirs.total(), "mixed.area");
  return table;
}

FigureResult make_mixed(const FigureInputs& in) {
  FigureTable table{.id = "efficiency",
                    .title = "Speedup, and energy of the baseline / energy of TensorDash",
                    .row_title = "model",
                    .unit = "x"};
  const auto run = [&](const std::string& m) -> const Run& { return in.runs.run(last_trace(m), kMixed); };
  const auto speedup = [&](const std::string& m) { return run(m).batch.all.speedup(); };
  const auto compute = [&](const std::string& m) { return run(m).energy.compute_efficiency(); };
  const auto chip = [&](const std::string& m) { return run(m).energy.chip_efficiency(); };
  for (const std::string& m : paper_models())
    table.set(m, "speedup", speedup(m)).set(m, "compute", compute(m)).set(m, "whole chip", chip(m));
  const double mean = mean_of(paper_models(), speedup);
  table.set(
      kMeanRow, "speedup", mean, "mixed.speedup",
      {"the zeros of our traces and tiles that wait for the slowest one, as in Fig. 13", {"A1", "A2", "A4"}});
  table.set(kMeanRow, "compute", mean_of(paper_models(), compute));
  table.set(kMeanRow, "whole chip", mean_of(paper_models(), chip), "mixed.energy",
            {fmt::format(
                 "the lower speedup ({:.2f}x), costs that are derived and not published, and a machine whose "
                 "tiles and memory are the arXiv version's",
                 mean),
             {"A2", "A16", "A30"}});
  return {
      {table, mixed_area()},
      {"Known of this version: the abstract's three numbers, the data type, and that it sits on a "
       "Tensor-Core-based "
       "accelerator. Not known: that accelerator's tiles, lanes, memory and clock, the models, and what the "
       "energy and the area include. Under 5 % holds for the whole chip here, not for its logic alone."}};
}

}  // namespace

std::vector<Figure> tensordash_mixed_figures() {
  Figure figure{.id = "mixed",
                .title = "Mixed precision: the version at MICRO 2020 as far as its abstract tells",
                .paper = "tensordash-micro",
                .place = "abstract",
                .make = make_mixed};
  for (const std::string& model : paper_models()) figure.runs.push_back({last_trace(model), kMixed});
  return {figure};
}

}  // namespace lacuna::reproduce
