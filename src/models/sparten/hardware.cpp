#include "models/sparten/hardware.hpp"

#include <fmt/format.h>

#include "sim/memory/memory_actions.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::sparten {
namespace {

constexpr double kSumBytes = 4;

bool permutes(const Config& config) { return config.balancing == Balancing::kChunks; }

// Returns the size of one unit's buffers: the broadcast chunk and the held ones, each twice (one is filled
// while the other is used), and the partial sums of `held_reuse` broadcast streams (P7).
double buffer_kilobytes(const Config& config) {
  const auto held = static_cast<double>(config.streams_per_unit());
  const double chunk_bytes =
      static_cast<double>(config.chunk) * (static_cast<double>(bytes_of(config.data_type)) + 1.0 / 8);
  return (2 * (1 + held) * chunk_bytes + static_cast<double>(config.held_reuse) * held * kSumBytes) / 1024;
}

}  // namespace

UnitTraffic unit_traffic(const PlacedProduct& placed, const ProductCounts& counts) {
  const TileGrid& grid = placed.grid;
  const Config& config = placed.config;
  const std::int64_t held = placed.held->count();
  const std::int64_t chunks = placed.layout.chunks();
  const std::int64_t sent = placed.broadcast->count() * chunks - counts.empty_broadcasts;  // in one pass
  // A broadcast stream is sent once for each group of held streams.
  const TilePasses by_groups = grid.column_passes(1, config.multicast);
  // ASSUMPTION(P7): held chunks stay in their units while `held_reuse` broadcast chunks pass.
  const TilePasses by_streams = grid.row_passes(config.held_reuse, config.multicast);
  UnitTraffic traffic;
  traffic.joins = counts.joins;
  traffic.joins_left_out = counts.joins_left_out;
  traffic.chunks_received = sent * counts.held_units;
  traffic.broadcast_values_read = counts.broadcast_nonzeros * by_groups.reads;
  traffic.broadcast_mask_bits_read = sent * config.chunk * by_groups.reads;
  traffic.held_values_read = counts.held_nonzeros * by_streams.reads;
  traffic.held_mask_bits_read = held * chunks * config.chunk * by_streams.reads;
  traffic.values_written =
      counts.broadcast_nonzeros * counts.held_units + counts.held_nonzeros * by_streams.writes;
  traffic.mask_bits_written = (traffic.chunks_received + held * chunks * by_streams.writes) * config.chunk;
  return traffic;
}

Hardware machine_hardware(const Config& config) {
  using enum ComponentGroup;
  const auto units = static_cast<double>(config.units);
  const auto clusters = static_cast<double>(config.clusters());
  const auto chunk = static_cast<double>(config.chunk);
  Hardware hardware{
      .description = fmt::format("{} clusters of {} compute units, chunks of {}", config.clusters(),
                                 config.cluster_units, config.chunk),
      .data_type = std::string(data_type_name(config.data_type)),
      .frequency_mhz = config.frequency_mhz,
      .components = {
          {"units", "multipliers and accumulators", kCore, {{"mac", units, {"cycle"}}}},
          {"inner_join",
           "inner join",
           kCore,
           {{"prefix_sum", 2 * units * chunk, {"bit"}}, {"join_input", units * chunk, {"cycle"}}}},
          {"output_compression", "output compression", kCore, {{"prefix_sum", clusters * chunk, {"bit"}}}}}};
  std::vector<Component>& components = hardware.components;
  if (permutes(config)) {
    components.push_back({"permutation", "permutation network", kCore, {{"crossbar", 0, {"transfer"}}}});
  }
  components.push_back({"chunk_buffers",
                        "chunk buffers",
                        kSram,
                        {{"chunk_buffer", units * buffer_kilobytes(config), {"read", "write"}}}});
  components.push_back({"accumulators", "partial sums", kSram, {{"accumulator", 0, {"read", "write"}}}});
  components.push_back(sram_component(static_cast<double>(3 * config.sram_banks)));
  const auto held = static_cast<double>(config.streams_per_unit());
  hardware.totals = {{"multipliers", "multipliers", units},
                     {"accumulators", "", units * held * static_cast<double>(config.held_reuse)},
                     {"chunk_values", "", 2 * (1 + held) * units * chunk}};
  for (DesignTotal& total : sram_totals(static_cast<double>(3 * config.sram_banks))) {
    hardware.totals.push_back(std::move(total));
  }
  return hardware;
}

std::vector<ActionCount> unit_actions(const Config& config, const OperationWork& work,
                                      const ProductCounts& counts, const UnitTraffic& traffic,
                                      std::int64_t matches, std::int64_t empty_joins) {
  const auto scaled = [&](std::int64_t count) { return static_cast<double>(count) * work.batch_scale; };
  const auto chunk = static_cast<double>(config.chunk);
  const std::int64_t matched_joins = traffic.joins - empty_joins;
  const std::int64_t elements = result_elements(work.layer.shape, work.op);
  const bool once = work.layer.shape.once_per_batch(work.op);
  const double results = once ? static_cast<double>(elements) : scaled(elements);
  // ASSUMPTION(P8): multipliers, priority encoders and their multiplexers by cycles, as the logic of the
  // tiles (A16), or by use; prefix sums when a new mask arrives.
  const std::int64_t clocked = config.units * counts.cycles;
  const double masks_in_values = chunk / (8 * static_cast<double>(bytes_of(config.data_type)));
  const double mask_writes =
      scaled(traffic.mask_bits_written) / (8 * static_cast<double>(bytes_of(config.data_type)));
  std::vector<ActionCount> actions{
      {"units", "mac", "cycle", scaled(config.gated ? matches : clocked)},
      {"inner_join", "prefix_sum", "bit", scaled(traffic.chunks_received + traffic.joins) * chunk},
      {"inner_join", "join_input", "cycle", scaled(config.gated ? counts.join_cycles : clocked) * chunk},
      {"output_compression", "prefix_sum", "bit", results},
      {"chunk_buffers", "chunk_buffer", "read",
       2 * (scaled(matches) + scaled(traffic.joins) * masks_in_values)},
      {"chunk_buffers", "chunk_buffer", "write", scaled(traffic.values_written) + mask_writes},
      {"accumulators", "accumulator", "read", scaled(matched_joins) + results},
      {"accumulators", "accumulator", "write", scaled(matched_joins)}};
  if (permutes(config)) {
    actions.push_back({"permutation", "crossbar", "transfer", scaled(matched_joins)});
  }
  return actions;
}

}  // namespace lacuna::sparten
