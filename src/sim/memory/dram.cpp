#include "sim/memory/dram.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna {

DataType arithmetic(const Params& params) {
  const std::string& name = params.text("arithmetic");
  return std::ranges::find(kDataTypes, name, &DataTypeFacts::name)->type;
}

namespace {

std::vector<std::string> arithmetic_names() {
  std::vector<std::string> names;
  for (const DataTypeFacts& facts : kDataTypes) {
    if (facts.round != nullptr) names.emplace_back(facts.name);
  }
  return names;
}

}  // namespace

std::vector<ParamSpec> dram_params(const std::string& memory_help, const std::string& memory_citation) {
  return {
      ParamSpec::choice("memory", "ideal", {"ideal", "modelled"}, memory_help, memory_citation),
      ParamSpec::choice(
          "arithmetic", "fp32", arithmetic_names(),
          "values in FP32, or operands rounded to bfloat16 or (mixed) to half precision with FP32 "
          "accumulation; the bytes moved follow it",
          "TensorDash §4.4; docs/assumptions.md A30"),
      ParamSpec::number("frequency_mhz", 500, 1, 10000, "MHz", "clock of the chip", "TensorDash Table 2"),
      ParamSpec::integer("dram_channels", 4, 1, 64, "channels", "DRAM channels", "TensorDash Table 2"),
      ParamSpec::integer("dram_channel_bits", 64, 16, 1024, "bits",
                         "width of a DRAM channel: 64 gives 102.4 GB/s with the other defaults, 16 a quarter",
                         "docs/assumptions.md A10"),
      ParamSpec::integer("dram_mts", 3200, 1, 100000, "MT/s",
                         "transfers per second on each wire of the DRAM bus",
                         "TensorDash Table 2 (LPDDR4-3200)"),
      ParamSpec::integer("dram_page_bytes", 2048, 64, 65536, "bytes", "row of one 16-bit DRAM part",
                         "JEDEC LPDDR4 8 Gb x16"),
      ParamSpec::number("dram_row_ns", 60.625, 0, 10000, "ns",
                        "from opening a DRAM row to opening the next of its bank",
                        "tRAS + tRP of LPDDR4-3200 (68 + 29 clocks)"),
      ParamSpec::integer("dram_banks", 8, 1, 64, "banks",
                         "banks of a DRAM part, which open rows independently", "JEDEC LPDDR4"),
      ParamSpec::choice(
          "dram_timing", "controller", {"controller", "bus"},
          "time of a transfer: bus: bandwidth and the opening of rows; controller: also refresh, changes "
          "between "
          "reads and writes, and the time between the opening of two rows, as simulators of DRAM have them",
          "JEDEC LPDDR4; docs/assumptions.md A33"),
      ParamSpec::number("dram_refresh_percent", 7.17, 0, 50, "%",
                        "share of the time in which the parts refresh (dram_timing=controller)",
                        "tRFCab / tREFI of 8 Gb LPDDR4: 280 ns / 3.904 us"),
      ParamSpec::number("dram_turnaround_ns", 68, 0, 10000, "ns",
                        "time lost on the bus for a turn of writes between reads (dram_timing=controller)",
                        "docs/results/dram.md"),
      ParamSpec::integer(
          "dram_turn_kb", 64, 1, 65536, "KB",
          "bytes of a tensor that move before those of another: outputs that the tiles of Table "
          "2 finish together",
          "docs/assumptions.md A11, A33"),
      ParamSpec::number("dram_activate_ns", 10, 0, 10000, "ns",
                        "from opening a row to opening one of another bank (dram_timing=controller)",
                        "tRRD, and a quarter of tFAW, of LPDDR4-3200"),
      ParamSpec::integer("dram_burst", 16, 1, 64, "transfers",
                         "transfers of a burst, which a request is as long as", "JEDEC LPDDR4"),
      ParamSpec::choice(
          "dram_order", "stored", {"stored", "needed"},
          "order in which a transposed operand crosses the bus: stored: from end to end; needed: "
          "in groups of 16 x 16 values, across its channels",
          "TensorDash §3.4; docs/assumptions.md A33"),
      ParamSpec::choice(
          "static_costs", "dram", {"dram", "all"},
          "costs of idle parts: dram: standby power of the DRAM, as in "
          "the papers; all: also the power of SRAM and of logic that waits for memory, and the area "
          "of the DRAM's interface, so that a search pays for what it adds",
          "docs/assumptions.md A16"),
      ParamSpec::flag("dram_compression", true,
                      "zeros are left out on the DRAM bus; one bit per value says where",
                      "TensorDash §4 (CompressingDMA)"),
  };
}

std::int64_t result_nonzeros(const Layer& layer, Operation op) {
  return op == Operation::kForward        ? layer.g.nonzeros
         : op == Operation::kInputGrad    ? layer.a.nonzeros
         : layer.shape.once_per_batch(op) ? result_elements(layer.shape, op)
                                          : layer.w.nonzeros;
}

Dram::Dram(const Params& params)
    : value_bytes_(bytes_of(arithmetic(params))),
      modelled_(params.text("memory") == "modelled"),
      frequency_mhz_(params.number("frequency_mhz")),
      channels_(params.integer("dram_channels")),
      devices_(channels_ * ceil_div(params.integer("dram_channel_bits"), 16)),
      bytes_per_cycle_(static_cast<double>(params.integer("dram_channels")) *
                       static_cast<double>(params.integer("dram_channel_bits")) / 8 *
                       static_cast<double>(params.integer("dram_mts")) / frequency_mhz_),
      page_bytes_(params.integer("dram_page_bytes")),
      row_cycles_(params.number("dram_row_ns") * frequency_mhz_ / 1e3),
      banks_(params.integer("dram_banks")),
      compression_(params.flag("dram_compression")),
      request_bytes_(params.integer("dram_channel_bits") * params.integer("dram_burst") / 8),
      as_needed_(params.text("dram_order") == "needed"),
      clock_mhz_(static_cast<double>(params.integer("dram_mts")) / 2),
      all_static_(params.text("static_costs") == "all"),
      controller_(params.text("dram_timing") == "controller"),
      refresh_share_(params.number("dram_refresh_percent") / 100),
      turnaround_cycles_(params.number("dram_turnaround_ns") * frequency_mhz_ / 1e3),
      turn_bytes_(params.integer("dram_turn_kb") * 1024),
      activate_cycles_(params.number("dram_activate_ns") * frequency_mhz_ / 1e3) {}

DramRequests::Layout Dram::layout() const {
  DramRequests::Layout layout;
  layout.request_bytes = request_bytes_;
  layout.turn_bytes = turn_bytes_;
  layout.as_needed = as_needed_;
  return layout;
}

double Dram::cycles(const std::vector<DramTensor>& tensors) const {
  DramMoves moves;
  for (const DramTensor& tensor : tensors) {
    const auto bytes = static_cast<double>(tensor.bytes);
    moves.read_bytes += bytes * static_cast<double>(tensor.reads);
    moves.write_bytes += bytes * static_cast<double>(tensor.writes);
    moves.activations += static_cast<double>(activations(tensor) * (tensor.reads + tensor.writes));
  }
  return cycles(moves);
}

std::int64_t Dram::activations(const DramTensor& tensor) const {
  if (!as_needed_ || tensor.channel_groups <= 1 || tensor.groups <= tensor.channel_groups ||
      tensor.bytes == 0)
    return activations(tensor.bytes);
  // All channels have a row of a bank open: that many bytes lie next to each other. A pass over the groups of
  // some channels opens each such row once, or for each group where groups lie further apart.
  const std::int64_t row = page_bytes_ * devices_;
  const std::int64_t visits =
      tensor.bytes <= row ? 1 : std::min(tensor.groups, ceil_div(tensor.channel_groups * tensor.bytes, row));
  const std::int64_t requests = ceil_div(ceil_div(tensor.bytes, visits), request_bytes_);
  return visits * std::min(channels_, requests) * (devices_ / channels_);
}

DesignTotal Dram::bandwidth() const {
  return {"dram_bytes_per_second", "DRAM bandwidth", bytes_per_cycle_ * frequency_mhz_ * 1e6};
}

std::int64_t Dram::bus_bytes(std::int64_t elements, std::int64_t nonzeros) const {
  // CompressingDMA: the non-zeros, and a bit for each value [Rhu et al.; TensorDash §4].
  return compression_ ? nonzeros * value_bytes_ + ceil_div(elements, 8) : elements * value_bytes_;
}

TensorTraffic Dram::read(std::int64_t elements, std::int64_t nonzeros) const {
  const std::int64_t bytes = bus_bytes(elements, nonzeros);
  return {.dram_read_bytes = bytes, .dram_activations = activations(bytes)};
}

TensorTraffic Dram::write(std::int64_t elements, std::int64_t nonzeros) const {
  const std::int64_t bytes = bus_bytes(elements, nonzeros);
  return {.dram_write_bytes = bytes, .dram_activations = activations(bytes)};
}

double Dram::cycles(const DramMoves& moves) const {
  // Rows are opened while others are read. [JEDEC LPDDR4]: those of a part at least tRRD apart, and each bank
  // once per tRC.
  const double apart =
      std::max(row_cycles_ / static_cast<double>(banks_), controller_ ? activate_cycles_ : 0);
  const double moving = std::max((moves.read_bytes + moves.write_bytes) / bytes_per_cycle_,
                                 moves.activations * apart / static_cast<double>(devices_));
  if (!controller_) return moving;
  // ASSUMPTION(A33): tensors take turns, the bus changes its direction for each turn of writes and back, and
  // nothing moves while the parts refresh.
  const double changes = std::min(moves.read_bytes, moves.write_bytes) / static_cast<double>(turn_bytes_);
  return (moving + changes * turnaround_cycles_) / (1 - refresh_share_);
}

}  // namespace lacuna
