#include "sim/outer_product/hardware.hpp"

#include <fmt/format.h>

#include "sim/memory/memory_actions.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer_product {
namespace {

// The PE whose area SCNN publishes, and what ANT's 0.0017 mm2 are taken to be of.
constexpr std::int64_t kPublishedN = 4, kPublishedBanks = 32, kPublishedEntries = 32, kPublishedFifo = 50;
constexpr std::int64_t kPublishedRamValues = 2 * 4096, kPublishedWindow = 16;

// Units of one PE over those of the published one. ASSUMPTION(O15): multipliers and crosspoints by
// their number, memories by what they hold; SCNN's other logic is the same for any PE.
struct PeScale {
  double multipliers = 1, crossbar = 1, accumulators = 1, rams = 1, fifo = 1, range_search = 1;
};

// ASSUMPTION(N5): range and search follow our RTL. On osu018 cells ANT's PE is larger than the SCNN-like one
// by 126, 170 and 258 thousand um2 with n = 2, 4, 8 and k = 16, by 151, 209 and 265 thousand with n = 4 and
// k = 8, 32, 64: within 5 % of 2.24 thousand x this.
constexpr std::int64_t range_search_size(std::int64_t n, std::int64_t window) { return 20 + 10 * n + window; }

PeScale pe_scale(const MachineConfig& config, std::int64_t search_window) {
  const auto over = [](std::int64_t value, std::int64_t published) {
    return static_cast<double>(value) / static_cast<double>(published);
  };
  PeScale scale;
  const std::int64_t products = config.n * config.n;
  scale.multipliers = over(products, kPublishedN * kPublishedN);
  scale.crossbar = over(products * config.banks, kPublishedN * kPublishedN * kPublishedBanks);
  scale.accumulators = over(config.banks * config.bank_entries, kPublishedBanks * kPublishedEntries);
  scale.fifo = over(config.n, kPublishedN);
  if (config.sized) {
    scale.rams = over(config.iaram_values + config.oaram_values, kPublishedRamValues);
    scale.fifo *= over(config.fifo_entries, kPublishedFifo);
  }
  if (search_window > 0) {
    scale.range_search =
        over(range_search_size(config.n, search_window), range_search_size(kPublishedN, kPublishedWindow));
  }
  return scale;
}

// Additions that give the range of an image vector: two comparisons for each value but the first, four bounds
// of two additions.
constexpr std::int64_t range_additions(std::int64_t n) { return 2 * (n - 1) + 8; }

// Returns the memory that holds the kernel indices: ANT reads k of them at once.
const char* index_part(std::int64_t search_window) {
  return search_window > 0 ? "index_window" : "index_ram";
}

}  // namespace

Hardware machine_hardware(const MachineConfig& config, std::int64_t search_window) {
  const auto pes = static_cast<double>(config.pes());
  const bool searches = search_window > 0;
  const PeScale scale = pe_scale(config, search_window);
  using enum ComponentGroup;
  Hardware hardware{
      .description = fmt::format("{} PEs of {} x {} multipliers", config.pes(), config.n, config.n),
      .data_type = std::string(data_type_name(config.data_type)),
      .frequency_mhz = config.frequency_mhz,
      .components = {{"multipliers",
                      "multipliers and adders",
                      kCore,
                      {{"multiplier", 0, {"cycle"}},
                       {"adder", 0, {"cycle"}},
                       {"pe_multipliers", pes * scale.multipliers, {}}}},
                     {"coordinates", "coordinates", kCore, {{"coordinate", 0, {"product"}}}}},
      .area_table = "16nm-published"};
  std::vector<Component>& components = hardware.components;
  if (searches) {
    components.push_back({"range_search",
                          "range and search",
                          kCore,
                          {{"range", 0, {"vector"}},
                           {"search", 0, {"index"}},
                           {"pe_range_search", pes * scale.range_search, {}}}});
  }
  components.push_back({"crossbar",
                        "crossbar",
                        kCore,
                        {{"crossbar", 0, {"transfer"}}, {"pe_crossbar", pes * scale.crossbar, {}}}});
  components.push_back(
      {"accumulators",
       "accumulators",
       kSram,
       {{"accumulator", 0, {"read", "write"}}, {"pe_accumulators", pes * scale.accumulators, {}}}});
  std::vector<Part> rams{{"operand_ram", 0, {"read", "write"}},
                         {"kernel_buffer", 0, {"read"}},
                         {"index_ram", 0, {"read", "write"}}};
  if (searches) rams.push_back({"index_window", 0, {"read"}});
  components.push_back({"operand_rams", "operand RAMs", kSram, std::move(rams)});
  components.push_back({"output_rams", "output RAMs", kSram, {{"operand_ram", 0, {"read", "write"}}}});
  components.push_back({"operand_and_output_rams",
                        "operand and output RAMs",
                        kSram,
                        {{"pe_operand_and_output_rams", pes * scale.rams, {}}}});
  components.push_back({"weight_fifo", "weight FIFO", kSram, {{"pe_weight_fifo", pes * scale.fifo, {}}}});
  components.push_back({"other", "other logic", kCore, {{"pe_other", pes, {}}}});
  components.push_back(sram_component(0));  // its area is not part of what is published
  hardware.totals = {{"multipliers", "multipliers", static_cast<double>(config.multipliers)},
                     {"pes", "", pes},
                     {"accumulators", "", pes * static_cast<double>(config.banks * config.bank_entries)}};
  if (searches) hardware.totals.push_back({"search_indices", "", pes * static_cast<double>(search_window)});
  return hardware;
}

std::vector<ActionCount> pe_actions(const MachineConfig& config, std::int64_t search_window,
                                    const PairCounts& counts, const PeTraffic& traffic,
                                    std::int64_t compute_cycles, double batch_scale) {
  const auto scaled = [&](std::int64_t count) { return static_cast<double>(count) * batch_scale; };
  const bool searches = search_window > 0;
  // ASSUMPTION(O8): logic by cycles, as that of the tiles (A16), or by use.
  const std::int64_t slots = config.pes() * config.n * config.n * compute_cycles;
  const std::int64_t pe_cycles = config.pes() * compute_cycles;
  const double multiplied = scaled(config.gated ? counts.executed : slots);
  const double added = scaled(config.gated ? counts.useful : slots);
  // Costs are given for SCNN's PE. A product crosses as many wires as there are banks; a range needs the
  // least and the greatest column of n, and four bounds.
  const double banks = static_cast<double>(config.banks) / kPublishedBanks;
  const double ranges = static_cast<double>(range_additions(config.n)) / range_additions(kPublishedN);
  std::vector<ActionCount> actions{
      {"multipliers", "multiplier", "cycle", multiplied},
      {"multipliers", "adder", "cycle", added},
      {"coordinates", "coordinate", "product", multiplied},
      {"crossbar", "crossbar", "transfer", added * banks},
      {"accumulators", "accumulator", "read", scaled(counts.useful + traffic.halo + traffic.drained)},
      {"accumulators", "accumulator", "write", scaled(counts.useful + traffic.halo)},
      {"operand_rams", "operand_ram", "read", scaled(counts.image_reads)},
      {"operand_rams", "operand_ram", "write", scaled(traffic.loaded)},
      {"operand_rams", "kernel_buffer", "read", scaled(counts.kernel_value_reads)},
      {"operand_rams", "index_ram", "read", scaled(counts.image_reads + counts.row_pointer_reads)},
      {"operand_rams", index_part(search_window), "read", scaled(counts.kernel_index_reads)},
      {"operand_rams", "index_ram", "write", scaled(traffic.loaded)},
      {"output_rams", "operand_ram", "write", scaled(traffic.drained)},
      {"output_rams", "operand_ram", "read", scaled(traffic.drained)}};
  if (searches) {
    actions.push_back(
        {"range_search", "range", "vector", scaled(config.gated ? counts.ranges : pe_cycles) * ranges});
    actions.push_back({"range_search", "search", "index",
                       scaled(config.gated ? counts.kernel_index_reads : pe_cycles * search_window)});
  }
  return actions;
}

PeTraffic pe_traffic(const OperationWork& operation, const MachineConfig& config, std::int64_t pairs,
                     std::int64_t sent_again) {
  const Layer& layer = operation.layer;
  const Operation op = operation.op;
  PeTraffic traffic;
  const std::int64_t elements = result_elements(layer.shape, op);
  if (layer.shape.is_matrix()) {
    // The image is broadcast; a kernel element belongs to one block of columns.
    // Blocks are alike in all products. The weights of a recurrent layer stay in their PEs from step to step.
    const LinearWork work = LinearWork::of(layer, op, config).front();
    traffic.image_values_sent = layer.tensor(work.image.role).nonzeros;
    traffic.kernel_values_sent = layer.tensor(work.kernel.role).nonzeros;
    traffic.loaded = traffic.image_values_sent * work.blocks + traffic.kernel_values_sent;
    traffic.drained = elements;
    return traffic;
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
  // ASSUMPTION(O9): an operand leaves SRAM once per sample and stays in the PEs that use it.
  const std::int64_t times = work.kernel_role == Operand::kW ? work.samples : 1;
  traffic.image_values_sent = layer.tensor(work.image_role).nonzeros;
  traffic.kernel_values_sent = layer.tensor(work.kernel_role).nonzeros * times;
  // ASSUMPTION(O13): the image may be in the PEs since the layer before; kernels may come again.
  if (operation.passes && operation.passes->primary == 0) traffic.image_values_sent = 0;
  traffic.kernel_values_sent += sent_again * config.n;
  traffic.loaded =
      traffic.image_values_sent * work.image_copies() + traffic.kernel_values_sent * work.kernel_copies();
  traffic.halo = work.halo_values();
  // ASSUMPTION(O10): sums stay in the accumulators while they grow: over the channels of the image; those of
  // a weight gradient have one pair of planes only.
  traffic.drained = op == Operation::kWeightGrad ? pairs * work.map.outputs().h * work.map.outputs().w
                                                 : elements + traffic.halo;
  return traffic;
}

}  // namespace lacuna::outer_product
