#include "sim/memory/memory_actions.hpp"

namespace lacuna {

Component sram_component(double banks) {
  return {"sram", "AM, BM, CM", ComponentGroup::kSram, {{"sram", banks, {"read", "write"}}}};
}

std::vector<DesignTotal> sram_totals(double banks) {
  const double values = banks * kSramRowValues;
  return {{"sram_values", "on-chip memory", values * kSramBankRows},
          {"sram_values_per_cycle", "on-chip memory bandwidth", values}};
}

void add_dram(Hardware& hardware, const Dram& dram) {
  using enum ComponentGroup;
  std::vector<Component>& components = hardware.components;
  components.push_back({"dram", "DRAM", kDram, {{"dram", 0, {"bit", "activation"}}}});
  components.push_back({"dram_static", "DRAM, static", kDram, {{"dram", 0, {"static"}}}});
  hardware.static_power = dram.all_static();
  const double interfaces = hardware.static_power ? dram.devices() : 0;
  components.push_back({"dram_interface", "DRAM interface", kDram, {{"dram_interface", interfaces, {}}}});
}

double batch_count(const Activity& activity, double batch_scale, std::int64_t TensorTraffic::*count) {
  return static_cast<double>(activity.samples.*count) * batch_scale +
         static_cast<double>(activity.weights.*count);
}

std::vector<ActionCount> memory_actions(const Activity& activity, double batch_scale, double rows_of_16,
                                        double seconds) {
  const auto traffic = [&](std::int64_t TensorTraffic::*count) {
    return batch_count(activity, batch_scale, count);
  };
  const double outputs = traffic(&TensorTraffic::output_rows);
  const double reads = static_cast<double>(activity.am_reads + activity.bm_reads) * batch_scale + outputs;
  const double writes = traffic(&TensorTraffic::fill_rows) + outputs;
  const double bytes = traffic(&TensorTraffic::dram_read_bytes) + traffic(&TensorTraffic::dram_write_bytes);
  return {{"sram", "sram", "read", reads * rows_of_16},
          {"sram", "sram", "write", writes * rows_of_16},
          {"dram", "dram", "bit", 8 * bytes},
          {"dram", "dram", "activation", traffic(&TensorTraffic::dram_activations)},
          {"dram_static", "dram", "static", seconds}};
}

void append_static_actions(const Hardware& hardware, const Dram& dram, double batch_scale, OpResult& result) {
  const auto seconds = [&](std::int64_t cycles) {
    return static_cast<double>(cycles) * batch_scale / (dram.frequency_mhz() * 1e6);
  };
  const double all = seconds(result.cycles);
  const double waiting = seconds(result.cycles - result.activity->compute_cycles);
  for (const Component& component : hardware.components) {
    const double time = component.group == ComponentGroup::kCore ? waiting : all;
    for (const Part& part : component.parts) {
      if (hardware.is_powered(component, part))
        result.actions.push_back({component.name, part.name, "static", part.units * time});
    }
  }
}

}  // namespace lacuna
