// Kernels on their way to the PEs with mapping=scnn-tiles and pe_memory=sized: all PEs need the same ones, so
// one vector of n elements is broadcast per cycle, filters packed one after another [SCNN §3], and what a
// PE's FIFO does not hold comes again.
//
// A channel's kernels of one group pass over the image vectors of that channel. The first vector takes them
// off the bus; later ones find in the FIFO what it holds, and the rest is broadcast again, for all PEs at the
// pace of the one with the most vectors. Without a FIFO the PEs run in lockstep, with a large one at their
// own pace up to the barrier. ASSUMPTION(O13).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/ceil_div.hpp"
#include "sim/outer_product/schedule.hpp"
#include "sim/outer_product/work.hpp"

namespace lacuna::outer_product {

class KernelBroadcast {
 public:
  // `searches`: PEs that look kernels up in their own memory, as ANT's, have no FIFO.
  KernelBroadcast(const ConvolutionWork& work, const MachineConfig& config, bool searches)
      : used_(work.tiled && config.sized),
        shared_(work.op == Operation::kWeightGrad),
        n_(config.n),
        fifo_(searches ? std::numeric_limits<std::int64_t>::max() : config.fifo_entries),
        iaram_(config.iaram_values),
        channels_(static_cast<std::size_t>(work.images)),
        phases_(static_cast<std::size_t>(work.phases())),
        tiles_(static_cast<std::size_t>(work.tiles())) {}

  bool used() const { return used_; }

  void start_block() {
    if (!used_) return;
    image_vectors_.assign(channels_, 0);
    tile_nonzeros_.assign(tiles_, 0);
    kernel_values_.assign(phases_ * (shared_ ? 1 : channels_), 0);
  }
  void add_image(std::int64_t channel, std::int64_t tile, std::int64_t nonzeros) {
    if (!used_) return;
    std::int64_t& most = image_vectors_[static_cast<std::size_t>(channel)];
    most = std::max(most, ceil_div(nonzeros, n_));
    tile_nonzeros_[static_cast<std::size_t>(tile)] += nonzeros;
  }
  // Once for each kernel of a channel; in the weight gradient once for each plane, which meets all channels.
  void add_kernel(std::int64_t phase, std::int64_t channel, std::int64_t nonzeros) {
    if (!used_) return;
    const std::size_t row = static_cast<std::size_t>(phase) * (shared_ ? 1 : channels_);
    kernel_values_[row + (shared_ ? 0 : static_cast<std::size_t>(channel))] += nonzeros;
  }

  // Tells the schedule, before it closes the block's phases.
  void limit(Schedule& schedule) const {
    if (!used_) return;
    // A tile that does not fit the IARAM is worked on in parts, each with all kernels.
    const std::int64_t parts =
        std::max<std::int64_t>(1, ceil_div(*std::ranges::max_element(tile_nonzeros_), iaram_));
    for (std::size_t phase = 0; phase < phases_; ++phase) {
      std::int64_t sent = 0, once = 0;
      for (std::size_t c = 0; c < channels_; ++c) {
        const std::int64_t vectors = image_vectors_[c];
        if (vectors == 0) continue;
        const std::int64_t kernels = ceil_div(kernel_values_[shared_ ? phase : phase * channels_ + c], n_);
        const std::int64_t whole = std::min(parts, vectors);
        sent += kernels * whole + std::max<std::int64_t>(0, kernels - fifo_) * (vectors - whole);
        once += kernels;
      }
      schedule.limit(static_cast<std::int64_t>(phase), sent, sent - once);
    }
  }

 private:
  bool used_;
  bool shared_;  // kernels meet all channels of the image
  std::int64_t n_;
  std::int64_t fifo_;   // vectors
  std::int64_t iaram_;  // values
  std::size_t channels_, phases_, tiles_;
  std::vector<std::int64_t> image_vectors_;  // by channel: of the PE that has the most
  std::vector<std::int64_t> tile_nonzeros_;  // by PE: of all channels
  std::vector<std::int64_t> kernel_values_;  // by phase and channel
};

}  // namespace lacuna::outer_product
