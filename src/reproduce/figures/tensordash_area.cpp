// Area and power of TensorDash's logic.
#include <fmt/format.h>

#include "energy/energy.hpp"
#include "reproduce/figure.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::reproduce {
namespace {

struct AreaAndPower {
  ByComponent area, power, baseline_area, baseline_power;
};

AreaAndPower area_and_power(const Settings& settings) {
  const ArchCatalog catalog;
  Machine machine = catalog.find("tensordash", "reproduce");
  for (const auto& [key, value] : settings) machine.params.set(key, value, "reproduce");
  const auto built = machine.build();
  const BaselineSpec spec = built->baseline().value();
  Machine baseline = catalog.find(spec.model, "reproduce");
  for (const auto& [key, value] : spec.settings) baseline.params.set(key, value, "reproduce");
  const Hardware hardware = *built->hardware(), baseline_hardware = *baseline.build()->hardware();
  const CostTable table = energy_table("", 0, hardware);
  return {area_mm2(hardware, table), peak_watts(hardware, table), area_mm2(baseline_hardware, table),
          peak_watts(baseline_hardware, table)};
}

FigureResult make_table3(const FigureInputs&) {
  const AreaAndPower fp32 = area_and_power({}), bf16 = area_and_power({{"arithmetic", "bfloat16"}});
  FigureTable area{
      .id = "area", .title = "Area of the compute logic, 65 nm, FP32", .row_title = "part", .unit = "mm2"};
  FigureTable power{.id = "power",
                    .title = "Power of the compute logic, 65 nm, FP32",
                    .row_title = "part",
                    .unit = "mW",
                    .digits = 1};
  const struct {
    const char *row, *component, *key;
  } parts[] = {{"compute cores", "cores", "cores"},
               {"transposers", "transposers", "transposers"},
               {"schedulers and B-side multiplexers", "schedulers_and_b_muxes", "schedulers"},
               {"A-side multiplexers", "a_muxes", "a_muxes"}};
  for (const auto& part : parts) {
    area.set(part.row, "TensorDash", fp32.area.of(part.component), std::string("table3.area.") + part.key);
    power.set(part.row, "TensorDash", 1e3 * fp32.power.of(part.component),
              std::string("table3.power.") + part.key);
  }
  area.set("all", "TensorDash", fp32.area.compute(), "table3.area.total");
  area.set("all", "baseline", fp32.baseline_area.compute(), "table3.area.baseline");
  power.set("all", "TensorDash", 1e3 * fp32.power.total(), "table3.power.total");
  power.set("all", "baseline", 1e3 * fp32.baseline_power.total(), "table3.power.baseline");
  FigureTable ratios{.id = "ratios",
                     .title = "TensorDash / baseline",
                     .row_title = "data type",
                     .unit = "x",
                     .digits = 4,
                     .chart = Chart::kNone};
  ratios.set("FP32", "compute area", fp32.area.compute() / fp32.baseline_area.compute(), "table3.ratio.area");
  ratios.set("FP32", "compute power", fp32.power.total() / fp32.baseline_power.total(), "table3.ratio.power");
  ratios.set("FP32", "whole-chip area", fp32.area.total() / fp32.baseline_area.total(),
             "table3.ratio.chip_area",
             {fmt::format("the areas that the paper gives are {:.2f} mm2 more logic on a chip of {:.0f} mm2",
                          fp32.area.total() - fp32.baseline_area.total(), fp32.baseline_area.total()),
              {"A18"},
              {"chip/TensorDash - baseline/area", "chip/baseline/area"}});
  ratios.set("bfloat16", "compute area", bf16.area.compute() / bf16.baseline_area.compute(), "bfloat16.area");
  ratios.set("bfloat16", "compute power", bf16.power.total() / bf16.baseline_power.total(), "bfloat16.power");
  ratios.set(
      "bfloat16", "whole-chip area", bf16.area.total() / bf16.baseline_area.total(), "bfloat16.chip_area",
      {fmt::format("the logic added by the paper's own 1.13x is {:.2f} mm2 on a chip of {:.0f} mm2; the "
                   "text repeats the number of FP32",
                   bf16.area.total() - bf16.baseline_area.total(), bf16.baseline_area.total()),
       {"A17", "A18"},
       {"chip/TensorDash - baseline, bfloat16/area", "chip/baseline, bfloat16/area"}});
  FigureTable chip{.id = "chip",
                   .title = "Area of the whole chip, FP32 if nothing is said",
                   .row_title = "of",
                   .unit = "mm2",
                   .chart = Chart::kNone};
  chip.set("TensorDash", "area", fp32.area.total())
      .set("baseline", "area", fp32.baseline_area.total())
      .set("TensorDash - baseline", "area", fp32.area.total() - fp32.baseline_area.total())
      .set("baseline, bfloat16", "area", bf16.baseline_area.total())
      .set("TensorDash - baseline, bfloat16", "area", bf16.area.total() - bf16.baseline_area.total());
  return {{area, power, ratios, chip},
          {"Not a prediction: the unit costs are the paper's own numbers divided by units and multiplied "
           "again (A18), and bfloat16's were chosen to give its two ratios (A17). What can differ is the sum "
           "of the parts and other configurations."}};
}

}  // namespace

std::vector<Figure> tensordash_area_figures() {
  return {{"table3", "Area and power of TensorDash's compute logic", "tensordash",
           "Table 3, sections 4.3 and 4.4", make_table3}};
}

}  // namespace lacuna::reproduce
