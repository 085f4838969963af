#include "report/energy_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/error.hpp"
#include "report/json_text.hpp"

namespace lacuna {
namespace {

std::string_view data_type(const Hardware& hardware) {
  const std::int64_t bytes = std::visit([](const auto& of) { return of.value_bytes; }, hardware);
  return bytes == 4 ? "fp32" : "bfloat16";
}

double as_double(std::int64_t value) { return static_cast<double>(value); }

// One operation for the whole batch. `scheduled`: the schedulers are on.
ChipCounts chip_counts(const Activity& a, double batch_scale, double lanes, double compute_cycles,
                       double cycles, bool scheduled, bool zero_counters) {
  const double rows = lanes / 16;  // costs are of rows of 16 values
  const auto scaled = [&](std::int64_t count) { return as_double(count) * batch_scale; };
  const auto traffic = [&](std::int64_t TensorTraffic::*count) {
    return scaled(a.samples.*count) + as_double(a.weights.*count);
  };
  const double outputs = traffic(&TensorTraffic::output_rows);
  ChipCounts counts;
  counts.compute_cycles = compute_cycles * batch_scale;
  counts.scheduled_cycles = scheduled ? counts.compute_cycles : 0;
  counts.cycles = cycles * batch_scale;
  counts.counted_rows = zero_counters ? outputs * rows : 0;
  counts.sram_reads = (scaled(a.am_reads + a.bm_reads) + outputs) * rows;
  counts.sram_writes = (traffic(&TensorTraffic::fill_rows) + outputs) * rows;
  counts.scratchpad_reads = scaled(a.scratchpad_reads) * rows;
  counts.scratchpad_writes = scaled(a.scratchpad_writes) * rows;
  counts.psum_reads = scaled(a.psum_reads);
  counts.psum_writes = scaled(a.psum_writes);
  counts.dram_bits =
      8 * (traffic(&TensorTraffic::dram_read_bytes) + traffic(&TensorTraffic::dram_write_bytes));
  counts.dram_activations = traffic(&TensorTraffic::dram_activations);
  return counts;
}

// One operation of an outer-product machine for the whole batch.
OuterCounts outer_counts(const OpResult& op, double batch_scale) {
  const Activity& a = *op.activity;
  const auto scaled = [&](std::int64_t count) { return as_double(count) * batch_scale; };
  const auto counter = [&](std::string_view name) {
    const auto at = std::ranges::find(op.counters, name, &Counter::name);
    if (at == op.counters.end()) throw std::logic_error(fmt::format("no counter '{}'", name));
    return scaled(at->value);
  };
  const auto traffic = [&](std::int64_t TensorTraffic::*count) {
    return scaled(a.samples.*count) + as_double(a.weights.*count);
  };
  const double outputs = traffic(&TensorTraffic::output_rows);
  OuterCounts counts;
  counts.compute_cycles = scaled(a.compute_cycles);
  counts.cycles = scaled(op.cycles);
  counts.executed_products = counter("executed_products");
  counts.useful_products = counter("useful_products");
  counts.ranges = counter("ranges_computed");
  counts.image_reads = counter("image_values_read");
  counts.kernel_value_reads = counter("kernel_values_read");
  counts.kernel_index_reads = counter("kernel_indices_read");
  counts.row_pointer_reads = counter("row_pointers_read");
  counts.loaded_values = counter("operand_values_loaded");
  counts.drained_values = counter("drained_values");
  counts.halo_values = counter("halo_values");
  counts.sram_reads = scaled(a.am_reads + a.bm_reads) + outputs;
  counts.sram_writes = traffic(&TensorTraffic::fill_rows) + outputs;
  counts.dram_bits =
      8 * (traffic(&TensorTraffic::dram_read_bytes) + traffic(&TensorTraffic::dram_write_bytes));
  counts.dram_activations = traffic(&TensorTraffic::dram_activations);
  return counts;
}

// The machine of a run, ready to be asked for an operation's energy.
class EnergyOfOperations {
 public:
  EnergyOfOperations(const Hardware& hardware, const CostTable& table) : table_(table) {
    if (const auto* outer = std::get_if<OuterHardware>(&hardware)) {
      outer_ = outer_parts(*outer);
      tiles_ = outer->dense;
    } else {
      tiles_ = std::get<TileHardware>(hardware);
    }
    machine_ = chip_parts(tiles_);
    dense_ = chip_parts(without_skipping(tiles_));
  }

  MachineKind kind() const { return outer_ ? MachineKind::kOuterProduct : MachineKind::kTiles; }

  EnergyPair of(const OpResult& op, double batch_scale) const {
    const Activity& a = *op.activity;
    const Activity& d = op.dense_activity ? *op.dense_activity : a;
    const double lanes = as_double(tiles_.lanes);
    EnergyPair pair;
    pair.dense = energy_joules(chip_counts(d, batch_scale, lanes, as_double(d.dense_compute_cycles),
                                           as_double(op.dense_cycles), false, false),
                               dense_, table_);
    if (outer_) {
      pair.machine = energy_joules(outer_counts(op, batch_scale), *outer_, table_);
      return pair;
    }
    // A gated operation pays nothing for schedulers and multiplexers [TensorDash §3.5].
    const bool scheduled = op.scheduled != Scheduled::kNone;
    pair.machine = energy_joules(chip_counts(a, batch_scale, lanes, as_double(a.compute_cycles),
                                             as_double(op.cycles), scheduled, tiles_.zero_counters),
                                 machine_, table_);
    return pair;
  }

 private:
  const CostTable& table_;
  TileHardware tiles_;
  ChipParts machine_, dense_;
  std::optional<OuterParts> outer_;
};

std::string parts_json(const ByComponent& parts, MachineKind kind) {
  JsonLine line;
  for (const Component component : components_of(kind))
    line.field(component_name(component), parts.of(component));
  return line.field("total", parts.total()).text();
}

JsonLine& append_pair(JsonLine& line, const EnergyPair& pair, MachineKind kind) {
  return line.raw("dense", parts_json(pair.dense, MachineKind::kTiles))
      .raw("machine", parts_json(pair.machine, kind))
      .field("compute_efficiency", pair.compute_efficiency())
      .field("chip_efficiency", pair.chip_efficiency());
}

std::string pair_json(const EnergyPair& pair, MachineKind kind) {
  JsonLine line;
  return append_pair(line, pair, kind).text();
}

}  // namespace

EnergyPair& EnergyPair::operator+=(const EnergyPair& other) {
  dense += other.dense;
  machine += other.machine;
  return *this;
}

ChipParts chip_parts(const TileHardware& h) {
  return ChipParts::of_tiles(h.tiles, h.rows, h.columns, h.lanes, h.mux_inputs, h.schedulers_a_tile,
                             h.transposers, h.sram_banks, h.frequency_mhz);
}

OuterParts outer_parts(const OuterHardware& h) {
  return {.pes = as_double(h.pes),
          .multipliers = as_double(h.pes * h.n * h.n),
          .search_window = as_double(h.search_window),
          .frequency_mhz = h.frequency_mhz,
          .gated = h.gated};
}

TileHardware without_skipping(TileHardware hardware) {
  hardware.mux_inputs = 0;
  hardware.schedulers_a_tile = 0;
  hardware.zero_counters = false;
  return hardware;
}

bool has_energy(const RunResult& run) {
  if (!run.hardware) return false;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& op : layer.ops) {
      if (!op.activity) return false;
    }
  }
  return true;
}

CostTable choose_cost_table(const std::string& name_or_file, int node_nm, const Hardware& hardware) {
  const CostTable table = name_or_file.empty() ? CostTable::of_data_type(data_type(hardware))
                                               : CostTable::open(name_or_file, "--energy-table");
  return node_nm == 0 ? table : scale_to_node(table, NodeScale::find(node_nm, "--node"));
}

void check_cost_table(const CostTable& table, const Hardware& hardware, const std::string& name) {
  if (table.data_type != data_type(hardware)) {
    throw InputError(name,
                     fmt::format("it computes in {}, the energy table '{}' is of {}", data_type(hardware),
                                 table.name, table.data_type),
                     fmt::format("set arithmetic={}, or take another --energy-table", table.data_type));
  }
  if (std::holds_alternative<OuterHardware>(hardware) && !table.outer_product) {
    throw InputError(
        name, fmt::format("the energy table '{}' has no section 'outer_product'", table.name),
        "add one as in configs/energy/65nm-fp32.yaml, take another --energy-table, or leave the machine out");
  }
}

RunEnergy run_energy(const RunResult& run, const CostTable& table) {
  check_cost_table(table, *run.hardware, run.arch);
  const EnergyOfOperations machine(*run.hardware, table);
  RunEnergy energy{.table = table.name,
                   .node_nm = table.node_nm,
                   .kind = machine.kind(),
                   .layers = {},
                   .by_operation = {},
                   .all = {}};
  for (const LayerResult& layer : run.layers) {
    LayerEnergy of_layer{layer.name, {}};
    for (const OpResult& op : layer.ops) {
      const EnergyPair pair = machine.of(op, layer.batch_scale);
      energy.by_operation[static_cast<std::size_t>(op.op)] += pair;
      of_layer.ops.push_back({op.op, pair});
    }
    energy.layers.push_back(std::move(of_layer));
  }
  for (const EnergyPair& pair : energy.by_operation) energy.all += pair;
  return energy;
}

std::string energy_json(const RunEnergy& energy, bool layers, std::string_view indent) {
  std::string text = fmt::format("{{\n{0}  \"table\": {1},\n{0}  \"node_nm\": {2},\n{0}  \"unit\": \"J\",\n",
                                 indent, json_string(energy.table), json_number(energy.node_nm));
  for (const Operation op : kOperations) {
    text += fmt::format("{}  \"{}\": {},\n", indent, operation_name(op),
                        pair_json(energy.by_operation[static_cast<std::size_t>(op)], energy.kind));
  }
  text += fmt::format("{}  \"all\": {}", indent, pair_json(energy.all, energy.kind));
  if (layers) {
    text += fmt::format(",\n{}  \"operations\": [", indent);
    bool first = true;
    for (const LayerEnergy& layer : energy.layers) {
      for (const OpEnergy& op : layer.ops) {
        JsonLine line;
        line.field("layer", std::string_view(layer.name)).field("op", operation_name(op.op));
        text += fmt::format("{}\n{}    {}", first ? "" : ",", indent,
                            append_pair(line, op.energy, energy.kind).text());
        first = false;
      }
    }
    text += fmt::format("\n{}  ]", indent);
  }
  return text + fmt::format("\n{}}}", indent);
}

}  // namespace lacuna
