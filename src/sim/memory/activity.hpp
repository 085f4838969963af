// Counts of what the memories of a machine move in one operation, and of the cycles they are busy. src/energy
// knows their costs; result_fields.hpp names and describes them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lacuna {

// The part of a machine that decides the time of an operation.
enum class Bound { kCompute, kDram, kTransposers, kSram, kScratchpads, kBackside };

inline constexpr std::array kBounds{Bound::kCompute, Bound::kDram,        Bound::kTransposers,
                                    Bound::kSram,    Bound::kScratchpads, Bound::kBackside};

constexpr std::string_view bound_name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kDram:
      return "dram";
    case Bound::kTransposers:
      return "transposers";
    case Bound::kSram:
      return "sram";
    case Bound::kScratchpads:
      return "scratchpads";
    case Bound::kBackside:
      return "backside";
  }
  return "";
}

// Traffic that comes once per tensor, not once per step.
struct TensorTraffic {
  std::int64_t dram_read_bytes = 0;  // as they cross the bus (compressed, if the machine compresses)
  std::int64_t dram_write_bytes = 0;
  std::int64_t dram_activations = 0;  // rows opened
  std::int64_t fill_rows = 0;         // written to AM and BM from DRAM
  std::int64_t output_rows = 0;       // written to CM by the tiles and read from it on the way out

  void add(const TensorTraffic& other, std::int64_t times = 1) {
    dram_read_bytes += other.dram_read_bytes * times;
    dram_write_bytes += other.dram_write_bytes * times;
    dram_activations += other.dram_activations * times;
    fill_rows += other.fill_rows * times;
    output_rows += other.output_rows * times;
  }
  bool operator==(const TensorTraffic&) const = default;
};

// Counts are of the samples recorded, except `weights`: those tensors move once per batch, whatever its size.
// Scaled to a batch: everything else x batch_scale, plus `weights`.
struct Activity {
  std::int64_t compute_cycles = 0;  // of the tiles or PEs alone, with ideal memory
  std::int64_t dram_cycles = 0;     // busy, with the weights' share of the batch
  std::int64_t dram_bytes = 0;      // on the bus, with the weights' share of the batch
  std::int64_t transposer_cycles = 0;
  std::int64_t sram_cycles = 0;           // the busiest of AM, BM and CM, conflicts included
  std::int64_t sram_conflict_cycles = 0;  // of those, lost to blocks that meet in a bank
  std::int64_t scratchpad_cycles = 0;     // at one row per bank and cycle
  std::int64_t fill_cycles = 0;           // first block in, last block out; once per batch
  std::int64_t am_reads = 0;              // rows of `lanes` values
  std::int64_t bm_reads = 0;
  std::int64_t scratchpad_reads = 0;  // rows of both operands
  std::int64_t scratchpad_writes = 0;
  std::int64_t psum_reads = 0;  // partial sums, 4 bytes each
  std::int64_t psum_writes = 0;
  std::int64_t transposed_groups = 0;
  TensorTraffic samples;  // activations and gradients
  TensorTraffic weights;  // weights and their gradients
  Bound bound = Bound::kCompute;

  bool operator==(const Activity&) const = default;
};

}  // namespace lacuna
