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
      devices_(params.integer("dram_channels") * ceil_div(params.integer("dram_channel_bits"), 16)),
      bytes_per_cycle_(static_cast<double>(params.integer("dram_channels")) *
                       static_cast<double>(params.integer("dram_channel_bits")) / 8 *
                       static_cast<double>(params.integer("dram_mts")) / frequency_mhz_),
      page_bytes_(params.integer("dram_page_bytes")),
      row_cycles_(params.number("dram_row_ns") * frequency_mhz_ / 1e3),
      banks_(params.integer("dram_banks")),
      compression_(params.flag("dram_compression")) {}

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

double Dram::cycles(double bytes, double activations) const {
  // Tensors are read from end to end, so rows are opened while others are read.
  const double opening = activations * row_cycles_ / static_cast<double>(banks_ * devices_);
  return std::max(bytes / bytes_per_cycle_, opening);
}

}  // namespace lacuna
