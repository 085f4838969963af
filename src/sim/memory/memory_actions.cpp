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

std::vector<Component> dram_components() {
  return {{"dram", "DRAM", ComponentGroup::kDram, {{"dram", 0, {"bit", "activation"}}}},
          {"dram_static", "DRAM, static", ComponentGroup::kDram, {{"dram", 0, {"static"}}}}};
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

}  // namespace lacuna
