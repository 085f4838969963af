// DRAM as every machine sees it: bytes on the bus with zero compression, rows opened, cycles.
// docs/results/dram.md compares its timing with that of simulators of DRAM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/params.hpp"
#include "energy/components.hpp"
#include "sim/memory/activity.hpp"
#include "sim/memory/dram_requests.hpp"
#include "tensor/data_type.hpp"
#include "tensor/operation.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// The data type that a machine computes in and moves (parameter `arithmetic`).
DataType arithmetic(const Params& params);

// The parameters of a Dram, declared once for every machine that has one. `memory_help` and
// `memory_citation` say what memory=modelled means for the machine.
std::vector<ParamSpec> dram_params(const std::string& memory_help, const std::string& memory_citation);

// ASSUMPTION(A15): outputs are as sparse as what is recorded of their shape: O has the zeros of G, the
// input's gradient those of A (the activation function's zeros block both); the gradient of the weights has
// none. The gradients of a matmul's factors have the zeros of the factors.
std::int64_t result_nonzeros(const Layer& layer, Operation op);

// Bytes and turns on the bus in an operation.
struct DramMoves {
  double read_bytes = 0, write_bytes = 0;
  double activations = 0;  // rows opened
};

class Dram {
 public:
  explicit Dram(const Params& params);

  // Bytes of a tensor on the bus, and the rows opened to move them.
  TensorTraffic read(std::int64_t elements, std::int64_t nonzeros) const;
  TensorTraffic write(std::int64_t elements, std::int64_t nonzeros) const;
  std::int64_t activations(std::int64_t bytes) const { return ceil_div(bytes, page_bytes_); }
  // The same of one pass of a tensor, in the order in which it moves.
  std::int64_t activations(const DramTensor& tensor) const;
  double cycles(const DramMoves& moves) const;
  // The same of tensors in all their passes.
  double cycles(const std::vector<DramTensor>& tensors) const;

  std::int64_t value_bytes() const { return value_bytes_; }
  double bytes_per_cycle() const { return bytes_per_cycle_; }
  double frequency_mhz() const { return frequency_mhz_; }
  DesignTotal bandwidth() const;
  double clock_mhz() const { return clock_mhz_; }  // of the bus: two transfers per cycle
  DramRequests::Layout layout() const;             // of the requests that move tensors
  // Parts that are powered all the time over the 16 that costs are given for.
  double powered() const { return devices() / 16; }
  double devices() const { return static_cast<double>(devices_); }  // x16 parts
  // SRAM and waiting logic take power, and interfaces area (parameter `static_costs`).
  bool all_static() const { return all_static_; }
  bool modelled() const { return modelled_; }  // waiting for memory is part of the cycles

 private:
  std::int64_t bus_bytes(std::int64_t elements, std::int64_t nonzeros) const;

  std::int64_t value_bytes_;
  bool modelled_;
  double frequency_mhz_;
  std::int64_t channels_;
  std::int64_t devices_;  // x16 parts side by side
  double bytes_per_cycle_;
  std::int64_t page_bytes_;
  double row_cycles_;  // of one bank, from opening a row to opening the next
  std::int64_t banks_;
  bool compression_;
  std::int64_t request_bytes_;
  bool as_needed_;
  double clock_mhz_;
  bool all_static_;
  bool controller_;  // dram_timing
  double refresh_share_;
  double turnaround_cycles_;
  std::int64_t turn_bytes_;
  double activate_cycles_;
};

}  // namespace lacuna
