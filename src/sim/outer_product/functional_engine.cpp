// The functional engine: every pair's values go through a PE, and the sums are compared with the reference.
#include <optional>
#include <vector>

#include "base/work_progress.hpp"
#include "sim/outer_product/kernel_broadcast.hpp"
#include "sim/outer_product/machine.hpp"
#include "sim/outer_product/work.hpp"
#include "sim/workload/needed_outputs.hpp"
#include "sim/workload/reference.hpp"

namespace lacuna::outer_product {
namespace {

// A value that is compressed, or nothing for a zero.
std::optional<float> compressed(const TensorValues& values, std::int64_t row, std::int64_t channel) {
  const float value = values.at(row, channel);
  return is_nonzero(value) ? std::optional(value) : std::nullopt;
}

// Fills a plane from value_at(y, x), nothing where there is none.
template <typename ValueAt>
CsrPlane plane_of(std::int64_t rows, std::int64_t columns, const ValueAt& value_at) {
  CsrPlane plane;
  plane.start(rows, columns);
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      const std::optional<float> value = value_at(y, x);
      if (value) plane.add(x, *value);
    }
    plane.end_row();
  }
  return plane;
}

class ConvolutionExecution {
 public:
  // `a`: A where only needed outputs count, else null.
  ConvolutionExecution(const Layer& layer, const ConvolutionWork& work, const LayerValues& values,
                       const ValueMask* a, std::vector<float>& result)
      : s_(layer.shape),
        work_(work),
        image_(values.of(work.image_role)),
        kernel_(values.of(work.kernel_role)),
        result_(result) {
    if (a == nullptr) return;
    needed_where_ = values.a.data.data();
    needed_planes_ = needed_planes(layer.shape, a->view());
  }

  PairCounts run(const MachineConfig& config, const ProcessingElement& pe, Schedule& schedule) {
    PairCounts totals;
    KernelBroadcast broadcast(work_, config, pe.search_window() > 0);
    if (!work_.tiled) schedule.open(1);
    for (const std::int64_t block : in_steps(work_.blocks())) {
      if (work_.tiled) open_phases(schedule, work_, config);
      broadcast.start_block();
      std::int64_t sent = -1;  // the channel whose kernels are on the bus; those of G are there for all
      for (const std::int64_t i : in_steps(work_.images)) {
        const std::vector<Tile> tiles = image_tiles(block, i);
        if (tiles.empty()) continue;
        for (const Tile& tile : tiles) broadcast.add_image(i, tile.index, tile.plane.nonzeros());
        const bool first = sent < 0 || (work_.op != Operation::kWeightGrad && sent != i);
        sent = i;
        for (std::int64_t j = 0; j < work_.kernels; j += work_.packed) {
          const CsrPlane kernel = kernel_plane(block, i, j);
          if (kernel.nonzeros() == 0) continue;
          if (first) broadcast.add_kernel(work_.phase(j), i, kernel.nonzeros());
          for (const Tile& tile : tiles) {
            const PairCounts counts = pe.execute(tile.plane, kernel, work_.map, output_plane(block, i, j));
            schedule.add(work_.phase(j), work_.pe(block, i, j, tile.index), counts.cycles());
            totals += counts;
          }
        }
      }
      if (work_.tiled) {
        broadcast.limit(schedule);
        schedule.close();
      }
    }
    if (!work_.tiled) schedule.close();
    return totals;
  }

 private:
  std::int64_t sample(std::int64_t block) const { return block / work_.groups; }
  std::int64_t group(std::int64_t block) const { return block % work_.groups; }

  struct Tile {
    std::int64_t index;
    CsrPlane plane;  // its row pointers are those of the tile, rows and columns those of the image
  };
  // The tiles of an image that have non-zeros; its whole plane if it is not cut.
  std::vector<Tile> image_tiles(std::int64_t block, std::int64_t i) const {
    const std::int64_t h = work_.map.y.image, w = work_.map.x.image;
    std::vector<Tile> tiles;
    for (std::int64_t y0 = 0; y0 < h; y0 += work_.tile.h) {
      for (std::int64_t x0 = 0; x0 < w; x0 += work_.tile.w) {
        const std::int64_t rows = std::min(work_.tile.h, h - y0), columns = std::min(work_.tile.w, w - x0);
        Tile tile{work_.tile_of(y0, x0), {}};
        tile.plane = plane_of(rows, columns, [&](std::int64_t y, std::int64_t x) {
          return compressed(image_, (sample(block) * h + y0 + y) * w + x0 + x,
                            group(block) * work_.images + i);
        });
        if (tile.plane.nonzeros() == 0) continue;
        for (std::uint32_t& row : tile.plane.row) row += static_cast<std::uint32_t>(y0);
        for (std::uint32_t& column : tile.plane.col) column += static_cast<std::uint32_t>(x0);
        tiles.push_back(std::move(tile));
      }
    }
    return tiles;
  }

  // Kernel `first`, with those that are packed with it below.
  CsrPlane kernel_plane(std::int64_t block, std::int64_t i, std::int64_t first) const {
    const std::int64_t h = work_.map.y.kernel, w = work_.map.x.kernel;
    const std::int64_t rows = h * work_.packed_from(first);
    return plane_of(rows, w, [&](std::int64_t row, std::int64_t c) -> std::optional<float> {
      const std::int64_t j = first + row / h, r = row % h;
      switch (work_.op) {
        case Operation::kForward:
          return compressed(kernel_, ((group(block) * s_.k_per_group() + j) * h + r) * w + c, i);
        case Operation::kInputGrad:  // rotated by 180 degrees
          if (!needs_plane(block, j)) return std::nullopt;
          return compressed(kernel_,
                            ((group(block) * s_.k_per_group() + i) * h + (h - 1 - r)) * w + (w - 1 - c), j);
        case Operation::kWeightGrad:
          return compressed(kernel_, (sample(block) * h + r) * w + c, group(block) * work_.kernels + j);
      }
      return std::nullopt;
    });
  }

  bool needs_plane(std::int64_t block, std::int64_t channel) const {
    return needed_planes_.empty() || needed_planes_[static_cast<std::size_t>(
                                         sample(block) * s_.c + group(block) * s_.c_per_group() + channel)];
  }

  OutputPlane output_plane(std::int64_t block, std::int64_t i, std::int64_t j) {
    const auto plane = [&](std::int64_t index, Size2 size, std::int64_t channels, std::int64_t channel) {
      const std::int64_t first = index * size.h * size.w * channels + channel;
      return OutputPlane{result_.data() + first, size.w * channels, channels,
                         work_.op == Operation::kWeightGrad ? s_.taps() * channels : 1,
                         needed_where_ != nullptr ? needed_where_ + first : nullptr};
    };
    switch (work_.op) {
      case Operation::kForward:
        return plane(sample(block), s_.output, s_.k, group(block) * s_.k_per_group() + j);
      case Operation::kInputGrad:
        return plane(sample(block), s_.input, s_.c, group(block) * s_.c_per_group() + j);
      case Operation::kWeightGrad:
        return plane(group(block) * s_.k_per_group() + j, s_.kernel, s_.c_per_group(), i);
    }
    return {};
  }

  const LayerShape& s_;
  const ConvolutionWork& work_;
  const TensorValues &image_, &kernel_;
  std::vector<float>& result_;
  const float* needed_where_ = nullptr;
  std::vector<bool> needed_planes_;  // empty: all
};

PairCounts execute_linear(const LinearWork& work, const MachineConfig& config, const LayerValues& values,
                          const float* needed_where, std::vector<float>& result, const ProcessingElement& pe,
                          Schedule& schedule) {
  const auto value = [&](const MatrixOperand& from, std::int64_t y, std::int64_t x) {
    return compressed(values.of(from.role), from.row(y, x), from.channel(y, x));
  };
  PairCounts totals;
  const std::int64_t slices = work.by_channel ? work.reduction : 1;
  const std::int64_t depth = work.by_channel ? 1 : work.reduction;
  for (const std::int64_t slice : in_steps(slices)) {
    const CsrPlane image = plane_of(depth, work.image.columns, [&](std::int64_t y, std::int64_t x) {
      return value(work.image, slice + y, x);
    });
    for (const std::int64_t block : in_steps(work.blocks)) {
      const std::int64_t first = work.first_column(block);
      const CsrPlane kernel = plane_of(depth, work.width(block), [&](std::int64_t r, std::int64_t c) {
        return value(work.kernel, slice + r, first + c);
      });
      if (image.nonzeros() == 0 || kernel.nonzeros() == 0) continue;
      const std::int64_t at = work.output0 + first * work.kernel_stride;
      const OutputPlane output{result.data() + at, work.image_stride, work.kernel_stride, 0,
                               needed_where != nullptr ? needed_where + at : nullptr};
      const PairCounts counts = pe.execute(image, kernel, work.map(block), output);
      schedule.add(0, (work.first_pair + slice * work.blocks + block) % config.pes(), counts.cycles());
      totals += counts;
    }
  }
  return totals;
}

}  // namespace

PairCounts execute_operation(const Layer& layer, Operation op, const MachineConfig& config,
                             const ProcessingElement& pe, Schedule& schedule, std::uint64_t seed) {
  const LayerValues values = layer_values(layer, seed, config.data_type);
  std::vector<float> result(static_cast<std::size_t>(result_elements(layer.shape, op)), 0.0F);
  PairCounts totals;
  std::optional<ValueMask> of_a;
  if (config.needed && has_unneeded_outputs(layer, op)) of_a.emplace(values.a);
  if (layer.shape.is_matrix()) {
    totals = on_schedule(layer, op, config, schedule, [&](const LinearWork& work) {
      return execute_linear(work, config, values, of_a ? values.a.data.data() : nullptr, result, pe,
                            schedule);
    });
  } else {
    const ConvolutionWork work = ConvolutionWork::of(layer.shape, op, config);
    totals =
        ConvolutionExecution(layer, work, values, of_a ? &*of_a : nullptr, result).run(config, pe, schedule);
  }
  check_against_reference(layer.shape, op, values, result, of_a ? &of_a->view() : nullptr);
  return totals;
}

}  // namespace lacuna::outer_product
