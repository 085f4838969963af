// The parameters that the outer-product machines share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/params.hpp"
#include "tensor/data_type.hpp"
#include "tensor/layer_shape.hpp"

namespace lacuna::outer_product {

enum class Mapping {
  kPairs,      // pair i on PE i mod PEs, one barrier per operation
  kScnnTiles,  // planes cut into tiles, one per PE; a barrier at each group of output channels [SCNN §4]
};

enum class LinearMapping {
  kMatrix,    // whole compressed matrices meet [ANT abstract]
  kChannels,  // one reduction index at a time: no RCPs, few lanes filled [SCNN §4: fully-connected layers]
};

// The dense machine that speedups refer to has tiles of 4 x 4 PEs of 16 lanes [TensorDash Table 2].
inline constexpr std::int64_t kDenseTileMultipliers = 256;

// Sizes of a processing element.
struct PeConfig {
  std::int64_t image_lanes = 4;
  std::int64_t kernel_lanes = 4;
  std::int64_t banks = 0;  // of accumulators; 0: conflicts cost nothing
};

struct MachineConfig {
  std::int64_t multipliers = 1024;
  std::int64_t n = 4;  // image and kernel elements per step: a PE has n x n multipliers
  std::int64_t fill = 2;
  bool fill_each_pair = false;
  Mapping mapping = Mapping::kPairs;
  LinearMapping linear = LinearMapping::kMatrix;
  bool packs_kernels = false;  // a vector of kernel elements may hold those of several filters
  std::int64_t banks = 32;
  bool conflicts = false;
  std::int64_t bank_entries = 32;
  std::int64_t group_channels = 0;  // 0: as many as the accumulators hold
  bool sized = false;               // IARAM, OARAM and weight FIFO have a size
  std::int64_t iaram_values = 4096;
  std::int64_t oaram_values = 4096;
  std::int64_t fifo_entries = 50;  // of n kernel elements
  bool charge_drains = false;
  std::int64_t drain_values = 0;  // per PE and cycle; 0: n
  bool needed = false;            // only needed outputs are useful
  bool gated = false;             // logic that is not used is not clocked
  DataType data_type = DataType::kFp32;
  double frequency_mhz = 500;

  std::int64_t pes() const { return multipliers / (n * n); }
  Size2 pe_grid() const;  // the most square one, rows <= columns
  PeConfig pe() const { return {n, n, conflicts ? banks : 0}; }
};

// The parameter of machines that can pack kernels.
ParamSpec kernel_vectors_param();
// `fill_default`: stages of the pipe less one.
std::vector<ParamSpec> machine_params(std::int64_t fill_default);
// Throws InputError where the values do not make a machine.
MachineConfig machine_config(const Params& params);

}  // namespace lacuna::outer_product
