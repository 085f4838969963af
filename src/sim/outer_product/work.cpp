#include "sim/outer_product/work.hpp"

#include <numeric>

namespace lacuna::outer_product {
namespace {

// ASSUMPTION(O7): Kc is what the accumulators of a PE hold of the outputs that its tile can reach; SCNN gives
// the rule and its sizes, not Kc itself.
std::int64_t fitting_channels(const ConvolutionWork& work, const MachineConfig& config) {
  std::int64_t most = 1;
  for (std::int64_t y = 0; y < work.map.y.image; y += work.tile.h) {
    for (std::int64_t x = 0; x < work.map.x.image; x += work.tile.w) {
      const auto rows = work.map.y.reach(y, std::min(y + work.tile.h, work.map.y.image) - 1);
      const auto columns = work.map.x.reach(x, std::min(x + work.tile.w, work.map.x.image) - 1);
      most = std::max(most, rows.size() * columns.size());
    }
  }
  return std::max<std::int64_t>(1, config.banks * config.bank_entries / most);
}

}  // namespace

std::vector<bool> needed_planes(const LayerShape& shape, const MaskView& a) {
  std::vector<bool> needed(static_cast<std::size_t>(shape.n * shape.c), false);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t first = row / shape.input_positions() * shape.c;
    for_each_bit(a.row(row), 0, shape.c,
                 [&](std::int64_t c) { needed[static_cast<std::size_t>(first + c)] = true; });
  }
  return needed;
}

ConvolutionWork ConvolutionWork::of(const LayerShape& s, Operation op, const MachineConfig& config) {
  ConvolutionWork work;
  work.map = IndexMap::convolution(s, op);
  work.op = op;
  work.image_role = op == Operation::kInputGrad ? Operand::kG : Operand::kA;
  work.kernel_role = op == Operation::kWeightGrad ? Operand::kG : Operand::kW;
  work.samples = s.n;
  work.groups = s.groups;
  work.images = op == Operation::kInputGrad ? s.k_per_group() : s.c_per_group();
  work.kernels = op == Operation::kInputGrad ? s.c_per_group() : s.k_per_group();
  work.pes = config.pes();
  work.tile = {work.map.y.image, work.map.x.image};
  if (config.mapping == Mapping::kScnnTiles) {
    work.tiled = true;
    work.tile_grid = config.pe_grid();
    work.tile = {ceil_div(work.map.y.image, work.tile_grid.h), ceil_div(work.map.x.image, work.tile_grid.w)};
    work.group_channels = config.group_channels > 0 ? config.group_channels : fitting_channels(work, config);
    if (config.packs_kernels) work.packed = std::min(work.group_channels, work.kernels);
  }
  return work;
}

std::int64_t ConvolutionWork::image_copies() const {
  return tiled ? 1 : std::min(kernels, pes);  // its pairs are neighbours; a tile's PE is its own
}

std::int64_t ConvolutionWork::kernel_copies() const {
  if (tiled) return ceil_div(map.y.image, tile.h) * ceil_div(map.x.image, tile.w);
  // A kernel of W belongs to one pair of a sample. A plane of G meets every image, `kernels` pairs apart.
  return kernel_role == Operand::kW ? 1 : std::min(images, pes / std::gcd(kernels, pes));
}

std::int64_t ConvolutionWork::halo_values() const {
  if (!tiled) return 0;
  const Size2 own{ceil_div(map.y.outputs, tile_grid.h), ceil_div(map.x.outputs, tile_grid.w)};
  const auto overlap = [](AxisMap::Span reach, std::int64_t low, std::int64_t high) {
    return AxisMap::Span{std::max(reach.low, low), std::min(reach.high, high)}.size();
  };
  std::int64_t values = 0;
  for (std::int64_t i = 0; i * tile.h < map.y.image; ++i) {
    for (std::int64_t j = 0; j * tile.w < map.x.image; ++j) {
      const auto rows = map.y.reach(i * tile.h, std::min((i + 1) * tile.h, map.y.image) - 1);
      const auto columns = map.x.reach(j * tile.w, std::min((j + 1) * tile.w, map.x.image) - 1);
      values += rows.size() * columns.size() - overlap(rows, i * own.h, (i + 1) * own.h - 1) *
                                                   overlap(columns, j * own.w, (j + 1) * own.w - 1);
    }
  }
  // The outputs of a weight gradient belong to one image channel each; those of the others are summed over
  // the image's channels inside the PE.
  return values * blocks() * kernels * (op == Operation::kWeightGrad ? images : 1);
}

namespace {

// One axis of the PE grid: outputs that each PE's tile reaches, and those that all tiles have for it.
struct AxisDrain {
  std::int64_t reached = 0;   // by its own tile
  std::int64_t incoming = 0;  // reached by any tile, of those it owns
  std::int64_t kept = 0;      // reached by its own, of those it owns
};

std::vector<AxisDrain> axis_drains(const AxisMap& axis, std::int64_t pes, std::int64_t tile) {
  const std::int64_t own = ceil_div(axis.outputs, pes);
  std::vector<AxisMap::Span> reach;
  for (std::int64_t i = 0; i < pes; ++i) {
    if (i * tile < axis.image) {
      reach.push_back(axis.reach(i * tile, std::min((i + 1) * tile, axis.image) - 1));
    } else {
      reach.push_back({});
    }
  }
  std::vector<AxisDrain> drains;
  for (std::int64_t i = 0; i < pes; ++i) {
    const auto overlap = [&](const AxisMap::Span& span) {
      return AxisMap::Span{std::max(span.low, i * own), std::min(span.high, (i + 1) * own - 1)}.size();
    };
    AxisDrain& drain = drains.emplace_back();
    drain.reached = reach[static_cast<std::size_t>(i)].size();
    drain.kept = overlap(reach[static_cast<std::size_t>(i)]);
    for (const AxisMap::Span& span : reach) drain.incoming += overlap(span);
  }
  return drains;
}

}  // namespace

std::int64_t ConvolutionWork::drained_by_one_pe() const {
  std::int64_t most = 0;
  for (const AxisDrain& y : axis_drains(map.y, tile_grid.h, tile.h)) {
    for (const AxisDrain& x : axis_drains(map.x, tile_grid.w, tile.w)) {
      most = std::max(most, y.reached * x.reached + y.incoming * x.incoming - y.kept * x.kept);
    }
  }
  return most;
}

PhaseDrain ConvolutionWork::drain(std::int64_t phase, std::int64_t drained, std::int64_t values) const {
  const std::int64_t group = std::min(group_channels, kernels - phase * group_channels);
  const std::int64_t cycles = ceil_div(drained * group, values);
  // The sums of a weight gradient belong to one channel of the image: they leave after each.
  return {op == Operation::kWeightGrad ? (images - 1) * cycles : 0, cycles};
}

void open_phases(Schedule& schedule, const ConvolutionWork& work, const MachineConfig& config) {
  schedule.open(work.phases());
  if (!config.charge_drains) return;
  const std::int64_t drained = work.drained_by_one_pe();
  for (std::int64_t phase = 0; phase < work.phases(); ++phase) {
    schedule.set_drain(phase, work.drain(phase, drained, config.drain_values));
  }
}

std::vector<LinearWork> LinearWork::of(const Layer& layer, Operation op, const MachineConfig& config) {
  const LayerShape& s = layer.shape;
  const std::int64_t c = s.c_per_group(), k = s.k_per_group(), rows = s.rows_at_once(op);
  std::vector<LinearWork> works;
  for (std::int64_t row0 = 0; row0 < s.n; row0 += rows) {
    for (std::int64_t product = 0; product < s.groups; ++product) {
      const std::int64_t c0 = product * c, k0 = product * k;
      LinearWork work;
      switch (op) {
        case Operation::kForward:
          work.image = {layer.a.mask, Operand::kA, true, rows, row0, c0};
          work.kernel = {layer.w.mask, Operand::kW, true, k, k0, 0};
          work.reduction = c;
          work.image_stride = s.k;
          work.output0 = row0 * s.k + k0;
          break;
        case Operation::kInputGrad:
          work.image = {layer.g.mask, Operand::kG, true, rows, row0, k0};
          work.kernel = {layer.w.mask, Operand::kW, false, c, k0, 0};
          work.reduction = k;
          work.image_stride = s.c;
          work.output0 = row0 * s.c + c0;
          break;
        case Operation::kWeightGrad:
          work.image = {layer.a.mask, Operand::kA, false, c, 0, c0};
          work.kernel = {layer.g.mask, Operand::kG, false, k, 0, k0};
          work.reduction = s.n;
          work.kernel_stride = c;
          work.output0 = k0 * c;
          break;
      }
      work.by_channel = config.linear == LinearMapping::kChannels;
      work.block_columns = ceil_div(work.kernel.columns, config.pes());
      work.blocks = ceil_div(work.kernel.columns, work.block_columns);
      work.first_pair = product * work.blocks * (work.by_channel ? work.reduction : 1);
      works.push_back(work);
    }
  }
  return works;
}

}  // namespace lacuna::outer_product
