// The (image, kernel) pairs of an operation: which planes there are, which PE takes a pair, in which phase.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ceil_div.hpp"
#include "sim/outer_product/index_map.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/processing_element.hpp"
#include "sim/outer_product/schedule.hpp"
#include "trace/trace.hpp"

namespace lacuna::outer_product {

// A convolution's pairs. A block is one sample of one convolution group: `images` x `kernels` pairs, each one
// channel of the image's plane and one filter's kernel for that channel (forward, input gradient), or one
// channel of A and one of G (weight gradient).
struct ConvolutionWork {
  IndexMap map;
  Operation op = Operation::kForward;
  Operand image_role = Operand::kA;
  Operand kernel_role = Operand::kW;
  std::int64_t samples = 1, groups = 1;
  std::int64_t images = 1, kernels = 1;  // of a block
  std::int64_t pes = 1;
  // Tiles of the image's plane, one per PE (mapping scnn-tiles); {1, 1}: not tiled.
  Size2 tile_grid{1, 1};
  Size2 tile;                       // positions of a tile
  std::int64_t group_channels = 1;  // kernels between barriers
  // ASSUMPTION(O16): kernels that a PE takes from the same vectors: those of a channel between two barriers,
  // also in the backward pass.
  std::int64_t packed = 1;
  bool tiled = false;

  static ConvolutionWork of(const LayerShape& shape, Operation op, const MachineConfig& config);

  std::int64_t blocks() const { return samples * groups; }
  std::int64_t tiles() const { return tile_grid.h * tile_grid.w; }
  std::int64_t tile_of(std::int64_t y, std::int64_t x) const { return y / tile.h * tile_grid.w + x / tile.w; }
  std::int64_t phases() const { return tiled ? ceil_div(kernels, group_channels) : 1; }
  std::int64_t packed_from(std::int64_t kernel) const { return std::min(packed, kernels - kernel); }
  std::int64_t phase(std::int64_t kernel) const { return tiled ? kernel / group_channels : 0; }
  // ASSUMPTION(O1): pairs are numbered sample, convolution group, image channel, kernel; pair i is on PE
  // i mod PEs. A tile's PE is its own.
  std::int64_t pe(std::int64_t block, std::int64_t image, std::int64_t kernel,
                  std::int64_t tile_index) const {
    return tiled ? tile_index : ((block * images + image) * kernels + kernel) % pes;
  }
  // PEs that an image plane, and a kernel, are brought to.
  std::int64_t image_copies() const;
  std::int64_t kernel_copies() const;
  // Partial sums that a PE computes for outputs that another PE owns, all PEs and blocks together.
  std::int64_t halo_values() const;
  // Sums that leave and enter the accumulators of the busiest PE for one kernel: those of its tile, its own
  // and its neighbours', and those that its neighbours have for it.
  std::int64_t drained_by_one_pe() const;
  // Sums of a group of kernels, with `drained` sums for each at `values` per cycle.
  PhaseDrain drain(std::int64_t phase, std::int64_t drained, std::int64_t values) const;
};

// Planes of outputs of an input gradient that somebody needs: [sample][channel], from a mask of A.
std::vector<bool> needed_planes(const LayerShape& shape, const MaskView& a);

// The phases of a block with mapping=scnn-tiles, and what their sums take to leave.
void open_phases(Schedule& schedule, const ConvolutionWork& work, const MachineConfig& config);

// One operand of a matrix product as a matrix [reduction, columns]: a part of its tensor.
struct MatrixOperand {
  MaskView mask;
  Operand role = Operand::kA;
  bool reduction_is_channel = false;  // else the reduction index is the mask's row
  std::int64_t columns = 1;
  std::int64_t row0 = 0, channel0 = 0;  // where it begins

  std::int64_t row(std::int64_t y, std::int64_t x) const { return row0 + (reduction_is_channel ? x : y); }
  std::int64_t channel(std::int64_t y, std::int64_t x) const {
    return channel0 + (reduction_is_channel ? y : x);
  }
  bool bit(std::int64_t y, std::int64_t x) const { return mask.bit(row(y, x), channel(y, x)); }
};

// The pairs of a matrix product. ASSUMPTION(O5): the kernel matrix is cut into blocks of columns, one per PE;
// the image is broadcast. `channels`: each reduction index is a separate pair with each block.
struct LinearWork {
  MatrixOperand image, kernel;
  std::int64_t reduction = 1;
  std::int64_t block_columns = 1;
  std::int64_t blocks = 1;
  bool by_channel = false;
  std::int64_t first_pair = 0;  // pairs of the products before it
  // Result element (image column x, kernel column s).
  std::int64_t output0 = 0, image_stride = 1, kernel_stride = 1;

  // One of a linear layer, one per product of a matmul, one per time step of a recurrent layer. Products of a
  // matmul are independent, so that PEs move to the next without waiting: their pairs are numbered on. Time
  // steps wait.
  static std::vector<LinearWork> of(const Layer& layer, Operation op, const MachineConfig& config);
  static bool in_order(const LayerShape& shape, Operation op) { return shape.rows_at_once(op) < shape.n; }

  std::int64_t first_column(std::int64_t block) const { return block * block_columns; }
  std::int64_t width(std::int64_t block) const {
    return std::min(block_columns, kernel.columns - first_column(block));
  }
  // The sums of a PE's columns, when all is added up; where a phase has several products, a PE's of one leave
  // while it computes the next.
  PhaseDrain drain(std::int64_t products, const MachineConfig& config) const {
    const std::int64_t cycles = ceil_div(image.columns * block_columns, config.drain_values);
    return {(ceil_div(products * blocks, config.pes()) - 1) * cycles, cycles};
  }
  IndexMap map(std::int64_t block) const {
    return IndexMap::matrix(by_channel ? 1 : reduction, image.columns, width(block));
  }
};

// Runs the products of a layer, run(work) giving the counts of one: side by side on the PEs, or in order.
template <typename Run>
PairCounts on_schedule(const Layer& layer, Operation op, const MachineConfig& config, Schedule& schedule,
                       const Run& run) {
  const bool in_order = LinearWork::in_order(layer.shape, op);
  const std::vector<LinearWork> works = LinearWork::of(layer, op, config);
  const auto open = [&](std::int64_t products) {
    schedule.open(1);
    if (config.charge_drains) schedule.set_drain(0, works.front().drain(products, config));
  };
  PairCounts totals;
  if (!in_order) open(static_cast<std::int64_t>(works.size()));
  for (const LinearWork& work : works) {
    if (in_order) open(1);
    totals += run(work);
    if (!in_order) continue;
    schedule.close();
    schedule.settle();
  }
  if (!in_order) schedule.close();
  return totals;
}

}  // namespace lacuna::outer_product
