// The fast engine: masks only, one kernel at a time, never all products.
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "base/text/quote.hpp"
#include "base/work_progress.hpp"
#include "sim/outer_product/kernel_broadcast.hpp"
#include "sim/outer_product/machine.hpp"
#include "sim/outer_product/planes.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/needed_outputs.hpp"

namespace lacuna::outer_product {
namespace {

// Adds a pair that is like all that `known` stands for, and counts it if it is the first of them. Returns its
// cycles.
std::int64_t count_alike(PairCounter& counter, std::size_t image, std::optional<PairCounts>& known,
                         PairCounts& totals) {
  if (!known) counter.count(image, known.emplace());
  totals += *known;
  return known->cycles();
}

class ConvolutionCount {
 public:
  ConvolutionCount(const Layer& layer, const ConvolutionWork& work, const MachineConfig& config,
                   const ProcessingElement& pe, Schedule& schedule)
      : layer_(layer),
        work_(work),
        config_(config),
        pe_(pe),
        schedule_(schedule),
        broadcast_(work, config, pe.search_window() > 0),
        shared_(work.op == Operation::kWeightGrad),
        no_zeros_(layer.tensor(work.image_role).mask.no_zeros() &&
                  layer.tensor(work.kernel_role).mask.no_zeros()),
        of_tile_(static_cast<std::size_t>(no_zeros_ ? 2 * work.tiles() : 0)),
        packed_(static_cast<std::size_t>(shared_ ? 1 : work.images)) {
    if (!config.needed || !has_unneeded_outputs(layer, work.op)) return;
    needed_planes_ = needed_planes(layer.shape, layer.a.mask);
    no_zeros_ = false;  // planes differ
  }

  PairCounts run() {
    // The places of the non-zeros of a block's planes, and where their rows begin.
    const MemoryClaim claim(5.0 * static_cast<double>(work_.images) * static_cast<double>(work_.map.y.image) *
                                static_cast<double>(work_.map.x.image),
                            "layer " + quote_name(layer_.name), "the engine of outer products");
    if (!work_.tiled) schedule_.open(1);
    counter_ = pe_.counter(work_.map, shared_ ? KernelUse::kShared : KernelUse::kOnce);
    for (const std::int64_t block : in_steps(work_.blocks())) {
      if (work_.tiled) open_phases(schedule_, work_, config_);
      // Without zeros the planes of the first block are those of every block.
      if (!no_zeros_ || block == 0) stream_images(block);
      if (no_zeros_ && block > 0) {
        count_alike_pairs(block);
      } else if (shared_) {
        count_shared_kernels(block);
      } else {
        count_weights(block);
      }
      if (work_.tiled) {
        broadcast_.limit(schedule_);
        schedule_.close();
      }
    }
    if (!work_.tiled) schedule_.close();
    return totals_;
  }

 private:
  struct LiveImage {  // a plane (or a tile of one) with non-zeros
    std::int64_t channel, tile;
    std::size_t image;
  };

  void stream_images(std::int64_t block) {
    const MaskView& mask = layer_.tensor(work_.image_role).mask;
    const std::int64_t channel0 = block % work_.groups * work_.images;
    const std::int64_t tiles = work_.tiles();
    const auto images = static_cast<std::size_t>(work_.images * tiles);
    counter_->start_images(images);
    std::int64_t row = block / work_.groups * work_.map.y.image * work_.map.x.image;
    for (std::int64_t y = 0; y < work_.map.y.image; ++y) {
      for (std::int64_t x = 0; x < work_.map.x.image; ++x, ++row) {
        const std::int64_t tile = work_.tile_of(y, x);
        for_each_bit(mask.row(row), channel0, channel0 + work_.images, [&](std::int64_t channel) {
          counter_->add_nonzero(static_cast<std::size_t>(channel * tiles + tile), y, x);
        });
      }
    }
    counter_->end_images();
    broadcast_.start_block();
    live_.clear();
    first_live_.assign(1, 0);
    for (std::size_t image = 0; image < images; ++image) {
      const std::int64_t channel = static_cast<std::int64_t>(image) / tiles;
      const std::int64_t tile = static_cast<std::int64_t>(image) % tiles;
      if (counter_->image_nonzeros(image) > 0) {
        live_.push_back({channel, tile, image});
        broadcast_.add_image(channel, tile, counter_->image_nonzeros(image));
      }
      if (tile == tiles - 1) first_live_.push_back(live_.size());
    }
  }

  // Without zeros (without_zeros.hpp) all planes of a tile are alike: one pair stands for them, or two where
  // fewer kernels are left to be packed together in the end.
  std::int64_t count_pair(const LiveImage& live, std::int64_t kernel) {
    if (!no_zeros_) return counter_->count(live.image, totals_);
    const bool fewer = work_.packed_from(kernel) < work_.packed;
    return count_alike(*counter_, live.image,
                       of_tile_[static_cast<std::size_t>(2 * live.tile + (fewer ? 1 : 0))], totals_);
  }
  void count(const LiveImage& live, std::int64_t block, std::int64_t kernel) {
    const std::int64_t cycles = count_pair(live, kernel);
    schedule_.add(work_.phase(kernel), work_.pe(block, live.channel, kernel, live.tile), cycles);
  }
  // The kernel that is set, with the images of its channel; in the weight gradient with those of all.
  void count_channel(std::int64_t block, std::int64_t channel, std::int64_t kernel, std::int64_t nonzeros) {
    broadcast_.add_kernel(work_.phase(kernel), channel, nonzeros);
    const std::size_t first = shared_ ? 0 : first_live_[static_cast<std::size_t>(channel)];
    const std::size_t end = shared_ ? live_.size() : first_live_[static_cast<std::size_t>(channel) + 1];
    for (std::size_t i = first; i < end; ++i) count(live_[i], block, kernel);
  }

  // The kernels of a channel come in their order; those that are packed together are counted together.
  void add_kernel(std::int64_t block, std::int64_t channel, std::int64_t kernel, const CsrPlane& plane) {
    const CsrPlane* ready = &plane;
    if (work_.packed > 1) {
      CsrPlane& packed = packed_[static_cast<std::size_t>(channel)];
      if (kernel % work_.packed == 0) packed.start(0, plane.cols, pe_.needs_columns());
      packed.append(plane);
      if ((kernel + 1) % work_.packed != 0 && kernel + 1 < work_.kernels) return;
      kernel -= kernel % work_.packed;
      ready = &packed;
    }
    if (ready->nonzeros() == 0) return;  // ASSUMPTION(O3): a pair without products costs nothing
    counter_->set_kernel(*ready);
    count_channel(block, channel, kernel, ready->nonzeros());
  }

  // All pairs are known: those of the first block.
  void count_alike_pairs(std::int64_t block) {
    for (std::int64_t kernel = 0; kernel < work_.kernels; kernel += work_.packed) {
      for (const LiveImage& live : live_) count(live, block, kernel);
    }
  }

  // Reads planes side by side: `row_of(r, s)` is the mask's row under their position, one channel each.
  template <typename RowOf>
  void read_planes(Size2 size, std::int64_t channel0, const RowOf& row_of, std::vector<CsrPlane>& planes) {
    const bool with_rows = pe_.needs_columns();
    for (CsrPlane& plane : planes) plane.start(size.h, size.w, with_rows);
    for (std::int64_t r = 0; r < size.h; ++r) {
      for (std::int64_t s = 0; s < size.w; ++s) {
        for_each_bit(row_of(r, s), channel0, channel0 + std::ssize(planes),
                     [&](std::int64_t i) { planes[static_cast<std::size_t>(i)].add(s); });
      }
      for (CsrPlane& plane : planes) plane.end_row();
    }
  }

  // Weight gradient: a channel of G is the kernel of every channel of A.
  void count_shared_kernels(std::int64_t block) {
    const MaskView& mask = layer_.tensor(work_.kernel_role).mask;
    const Size2 size{work_.map.y.kernel, work_.map.x.kernel};
    const std::int64_t row0 = block / work_.groups * size.h * size.w;
    std::vector<CsrPlane> planes(static_cast<std::size_t>(work_.kernels));
    read_planes(
        size, block % work_.groups * work_.kernels,
        [&](std::int64_t r, std::int64_t s) { return mask.row(row0 + r * size.w + s); }, planes);
    for (const std::int64_t kernel : in_steps(work_.kernels))
      add_kernel(block, 0, kernel, planes[static_cast<std::size_t>(kernel)]);
  }

  // The weights of one filter: for each channel a kernel. In the input gradient the filter is the image's
  // channel and its kernels are rotated by 180 degrees.
  void count_weights(std::int64_t block) {
    const bool rotated = work_.op == Operation::kInputGrad;
    const Size2 size = layer_.shape.kernel;
    const std::int64_t taps = layer_.shape.taps();
    const auto channels = static_cast<std::size_t>(layer_.shape.c_per_group());
    const bool as_masks = taps <= 64 && work_.packed == 1;
    std::vector<std::uint64_t> masks(as_masks ? channels : 0);
    std::vector<CsrPlane> planes(as_masks ? 0 : channels);
    for (const std::int64_t filter : in_steps(layer_.shape.k_per_group())) {
      if (rotated && no_image(filter)) continue;
      const auto weights = [&](std::int64_t position) {
        return weight_row(block, filter, rotated ? taps - 1 - position : position);
      };
      if (as_masks) {
        std::ranges::fill(masks, 0);
        for (std::int64_t position = 0; position < taps; ++position) {
          for_each_bit(weights(position), 0, std::ssize(masks), [&](std::int64_t c) {
            masks[static_cast<std::size_t>(c)] |= std::uint64_t{1} << position;
          });
        }
      } else {
        read_planes(
            size, 0, [&](std::int64_t r, std::int64_t s) { return weights(r * size.w + s); }, planes);
      }
      for (std::size_t c = 0; c < channels; ++c) {
        const auto channel = static_cast<std::int64_t>(c);
        const std::int64_t image = rotated ? filter : channel, kernel = rotated ? channel : filter;
        if (no_image(image)) continue;
        if (rotated && !needs_plane(block, channel)) {  // as if the kernel had no non-zero
          if (as_masks) continue;
          planes[c].start(size.h, size.w, pe_.needs_columns());
          for (std::int64_t r = 0; r < size.h; ++r) planes[c].end_row();
        }
        if (!as_masks) {
          add_kernel(block, image, kernel, planes[c]);
        } else if (masks[c] != 0) {
          counter_->set_kernel_mask(masks[c]);
          count_channel(block, image, kernel, std::popcount(masks[c]));
        }
      }
    }
  }

  // Somebody needs the outputs of a channel in the input gradient.
  bool needs_plane(std::int64_t block, std::int64_t channel) const {
    if (needed_planes_.empty()) return true;
    const std::int64_t first =
        block / work_.groups * layer_.shape.c + block % work_.groups * layer_.shape.c_per_group();
    return needed_planes_[static_cast<std::size_t>(first + channel)];
  }
  bool no_image(std::int64_t channel) const {
    const auto first = static_cast<std::size_t>(channel);
    return first_live_[first] == first_live_[first + 1];
  }
  const std::uint8_t* weight_row(std::int64_t block, std::int64_t filter, std::int64_t tap) const {
    const std::int64_t k = block % work_.groups * layer_.shape.k_per_group() + filter;
    return layer_.w.mask.row(k * layer_.shape.taps() + tap);
  }

  const Layer& layer_;
  const ConvolutionWork& work_;
  const MachineConfig& config_;
  const ProcessingElement& pe_;
  Schedule& schedule_;
  KernelBroadcast broadcast_;
  bool shared_;
  bool no_zeros_;
  std::vector<std::optional<PairCounts>> of_tile_;  // without zeros: what a pair of planes takes
  std::vector<CsrPlane> packed_;                    // of each channel: kernels that are not counted yet
  std::unique_ptr<PairCounter> counter_;
  std::vector<LiveImage> live_;
  std::vector<std::size_t> first_live_;  // of each channel
  std::vector<bool> needed_planes_;      // empty: all
  PairCounts totals_;
};

// The kernel columns of one block: non-zeros of each reduction index as row pointers and, if asked for, all
// positions.
void fill_block(const LinearWork& work, std::int64_t block, bool with_columns, CsrPlane& plane) {
  const std::int64_t first = work.first_column(block);
  const std::int64_t width = work.width(block);
  plane.start(work.reduction, width);
  if (with_columns) {
    for (std::int64_t r = 0; r < work.reduction; ++r) {
      for (std::int64_t s = 0; s < width; ++s) {
        if (work.kernel.bit(r, first + s)) plane.add(s);
      }
      plane.end_row();
    }
    return;
  }
  plane.ptr.assign(static_cast<std::size_t>(work.reduction) + 1, 0);
  if (work.kernel.reduction_is_channel) {
    for (std::int64_t s = 0; s < width; ++s) {
      const MatrixOperand& kernel = work.kernel;
      for_each_bit(kernel.mask.row(kernel.row(0, first + s)), kernel.channel0,
                   kernel.channel0 + work.reduction,
                   [&](std::int64_t r) { ++plane.ptr[static_cast<std::size_t>(r) + 1]; });
    }
  } else {
    for (std::int64_t r = 0; r < work.reduction; ++r) {
      const std::int64_t channel = work.kernel.channel(r, first);
      for_each_bit(work.kernel.mask.row(work.kernel.row(r, first)), channel, channel + width,
                   [&](std::int64_t) { ++plane.ptr[static_cast<std::size_t>(r) + 1]; });
    }
  }
  for (std::size_t r = 1; r < plane.ptr.size(); ++r) plane.ptr[r] += plane.ptr[r - 1];
}

// One row of a block's plane as a separate plane.
void take_row(const CsrPlane& from, std::int64_t r, bool with_columns, CsrPlane& to) {
  const std::uint32_t first = from.ptr[static_cast<std::size_t>(r)];
  const std::uint32_t end = from.ptr[static_cast<std::size_t>(r) + 1];
  to.start(1, from.cols);
  if (with_columns) {
    for (std::uint32_t i = first; i < end; ++i) to.add(from.col[i]);
  }
  to.ptr.push_back(end - first);
}

PairCounts count_linear(const LinearWork& work, const MachineConfig& config, const ProcessingElement& pe,
                        Schedule& schedule) {
  const bool with_columns = pe.needs_columns();
  PairCounts totals;
  CsrPlane kernel, line;
  std::unique_ptr<PairCounter> counter;
  // Without zeros all pairs of one width are alike.
  const bool no_zeros = work.image.mask.no_zeros() && work.kernel.mask.no_zeros();
  std::optional<PairCounts> known;
  const auto count_pair = [&](std::int64_t image) {
    return no_zeros ? count_alike(*counter, static_cast<std::size_t>(image), known, totals)
                    : counter->count(static_cast<std::size_t>(image), totals);
  };
  for (const std::int64_t block : in_steps(work.blocks)) {
    // The image is the same for all blocks; the map changes only in the last, narrower one.
    if (block == 0 || work.width(block) != work.block_columns) {
      counter = pe.counter(work.map(block), work.by_channel ? KernelUse::kOnce : KernelUse::kShared);
      counter->start_images(static_cast<std::size_t>(work.by_channel ? work.reduction : 1));
      for (std::int64_t y = 0; y < work.reduction; ++y) {
        for (std::int64_t x = 0; x < work.image.columns; ++x) {
          if (!work.image.bit(y, x)) continue;
          counter->add_nonzero(work.by_channel ? static_cast<std::size_t>(y) : 0, work.by_channel ? 0 : y, x);
        }
      }
      counter->end_images();
      known.reset();
    }
    if (!known) fill_block(work, block, with_columns, kernel);
    if (!work.by_channel) {
      if (kernel.nonzeros() == 0 || counter->image_nonzeros(0) == 0) continue;
      if (!known) counter->set_kernel(kernel);
      schedule.add(0, (work.first_pair + block) % config.pes(), count_pair(0));
      continue;
    }
    for (const std::int64_t y : in_steps(work.reduction)) {
      if (!known) {
        take_row(kernel, y, with_columns, line);
        if (line.nonzeros() == 0 || counter->image_nonzeros(static_cast<std::size_t>(y)) == 0) continue;
        counter->set_kernel(line);
      }
      schedule.add(0, (work.first_pair + y * work.blocks + block) % config.pes(), count_pair(y));
    }
  }
  return totals;
}

}  // namespace

PairCounts count_pair_by_pair(const Layer& layer, Operation op, const MachineConfig& config,
                              const ProcessingElement& pe, Schedule& schedule) {
  if (layer.shape.is_matrix()) {
    return on_schedule(layer, op, config, schedule,
                       [&](const LinearWork& work) { return count_linear(work, config, pe, schedule); });
  }
  const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
  return ConvolutionCount(layer, work, config, pe, schedule).run();
}

}  // namespace lacuna::outer_product
