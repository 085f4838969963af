// Counts of what the memories of a machine move in one operation, and of the cycles they are busy. src/energy
// knows what they cost.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lacuna {

// What decides the time of an operation.
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
  bool operator==(const TensorTraffic&) const = default;
};

// Counts are of the samples recorded, except `weights`: those tensors move once per batch, whatever its size.
// Scaled to a batch: everything else x batch_scale, plus `weights`.
struct Activity {
  std::int64_t compute_cycles = 0;  // of the tiles or PEs alone, with ideal memory
  std::int64_t dram_cycles = 0;     // busy, with the weights' share of the batch
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

// Every count with its name in results, so that writers and readers agree.
inline constexpr std::array<std::pair<std::string_view, std::int64_t Activity::*>, 14> kActivityCounts{{
    {"compute_cycles", &Activity::compute_cycles},
    {"dram_cycles", &Activity::dram_cycles},
    {"transposer_cycles", &Activity::transposer_cycles},
    {"sram_cycles", &Activity::sram_cycles},
    {"sram_conflict_cycles", &Activity::sram_conflict_cycles},
    {"scratchpad_cycles", &Activity::scratchpad_cycles},
    {"fill_cycles", &Activity::fill_cycles},
    {"am_reads", &Activity::am_reads},
    {"bm_reads", &Activity::bm_reads},
    {"scratchpad_reads", &Activity::scratchpad_reads},
    {"scratchpad_writes", &Activity::scratchpad_writes},
    {"psum_reads", &Activity::psum_reads},
    {"psum_writes", &Activity::psum_writes},
    {"transposed_groups", &Activity::transposed_groups},
}};
inline constexpr std::array<std::pair<std::string_view, std::int64_t TensorTraffic::*>, 5> kTrafficCounts{{
    {"dram_read_bytes", &TensorTraffic::dram_read_bytes},
    {"dram_write_bytes", &TensorTraffic::dram_write_bytes},
    {"dram_activations", &TensorTraffic::dram_activations},
    {"fill_rows", &TensorTraffic::fill_rows},
    {"output_rows", &TensorTraffic::output_rows},
}};

}  // namespace lacuna
