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
  const auto energy = [&](const std::string& trace) { return in.runs.run(trace, kMixed).energy; };
  FigureTable table =
      by_model(in.runs,
               {.id = "efficiency",
                .title = "Speedup, and energy of the baseline / energy of TensorDash",
                .row_title = "model",
                .unit = "x"},
               {speedup_column(in.runs, {"speedup", kMixed, {}}),
                {"compute", [&](const std::string& trace) { return energy(trace).compute_efficiency(); }},
                {"whole chip", [&](const std::string& trace) { return energy(trace).chip_efficiency(); }},
                speedup_column(in.runs, {"speedup in FP32", "tensordash", {}})});
  table.compare(kMeanRow, "speedup", "mixed.speedup",
                {"the speedup does not depend on the data type: fig13 has where the rest goes",
                 {"A1", "A2", "A4"},
                 {fmt::format("efficiency/{}/speedup in FP32", kMeanRow)}});
  table.compare(kMeanRow, "whole chip", "mixed.energy",
                {fmt::format("the lower speedup, {:.2f}x", table.at(kMeanRow, "speedup")),
                 {"A2", "A16", "A30"},
                 {fmt::format("efficiency/{}/speedup", kMeanRow)}});
  return {{table, mixed_area()},
          {"Known of this version: the abstract's three numbers, the data type, and that it sits on a "
           "Tensor-Core-based accelerator. Not known: that accelerator's tiles, lanes, memory and clock, the "
           "models, and what the energy and the area include. Under 5 % holds for the whole chip here, not "
           "for its logic alone."}};
}

}  // namespace

std::vector<Figure> tensordash_mixed_figures() {
  return {{"mixed", "Mixed precision: the version at MICRO 2020, from its abstract", "tensordash-micro",
           "abstract", make_mixed}};
}

}  // namespace lacuna::reproduce
