// The parameters of a SparTen machine, checked.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ceil_div.hpp"
#include "base/params.hpp"
#include "sim/tile/tile_grid.hpp"
#include "tensor/data_type.hpp"
#include "tensor/operation.hpp"

namespace lacuna::sparten {

// Rule for held streams that share a unit between two barriers.
enum class Balancing {
  kNone,      // one stream per unit
  kUnsorted,  // two, in the order in which they come
  kFilters,   // two, the densest with the sparsest by their whole length (GB-S)
  kChunks,    // two, paired again at each chunk by the density of the chunk (GB-H)
};

// Among which streams the densest is paired with the sparsest.
enum class PairScope { kLayer, kGroup };

// Cost of a join without a match.
enum class EmptyJoin {
  kCycle,      // one cycle
  kBroadcast,  // one cycle, but a broadcast chunk without non-zeros is left out
  kFree,       // nothing
};

// Starts of chunks along the reduction.
enum class ChunkPacking {
  kAligned,  // a chunk never spans two taps (forward, input gradient) or two samples (weight gradient)
  kPacked,   // the whole reduction is one vector
};

// The dense machine that speedups refer to has tiles of 4 x 4 PEs of 16 lanes [TensorDash Table 2].
inline constexpr std::int64_t kDenseTileMultipliers = 256;

struct Config {
  std::int64_t units = 4096;
  std::int64_t cluster_units = 32;
  std::int64_t chunk = 128;
  Balancing balancing = Balancing::kFilters;
  PairScope pair_scope = PairScope::kLayer;
  EmptyJoin empty_join = EmptyJoin::kCycle;
  ChunkPacking packing = ChunkPacking::kAligned;
  Dealing dealing = Dealing::kBlocks;
  Operand weight_grad_held = Operand::kG;
  std::int64_t held_reuse = 32;
  std::int64_t multicast = 4;
  std::int64_t sram_banks = 64;  // of each of AM, BM and CM, on the chip
  bool needed = false;           // computes needed outputs alone
  bool gated = false;            // logic that is not used is not clocked
  DataType data_type = DataType::kFp32;
  double frequency_mhz = 500;

  std::int64_t clusters() const { return units / cluster_units; }
  std::int64_t streams_per_unit() const { return balancing == Balancing::kNone ? 1 : 2; }
  std::int64_t streams_per_cluster() const { return cluster_units * streams_per_unit(); }
  // W in the forward product and in the input gradient; the weight gradient has none and takes the one it is
  // told.
  Operand held(Operation op) const { return op == Operation::kWeightGrad ? weight_grad_held : Operand::kW; }
};

std::vector<ParamSpec> config_params();
// Parameters that the dense machine has too, with the same meaning.
std::vector<ParamSpec> shared_params();
// Throws InputError where the values do not make a machine.
Config make_config(const Params& params);

}  // namespace lacuna::sparten
