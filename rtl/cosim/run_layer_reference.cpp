#include "run_layer_reference.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>

#include "base/ceil_div.hpp"
#include "sim/catalog/registry.hpp"
#include "sim/tile/tile_grid.hpp"
#include "sim/workload/reference.hpp"
#include "sim/workload/schedule_policy.hpp"
#include "tensor/group_layout.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna::rtl {
namespace {

constexpr int kLanes = 16, kDepth = 3;

std::unique_ptr<Accelerator> machine(const std::string& name, const LayerTileInfo& tile) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find(name);
  Params params(name, model->params);
  params.set("tiles", "1", "rtl");
  params.set("rows", std::to_string(tile.rows), "rtl");
  params.set("columns", std::to_string(tile.columns), "rtl");
  return model->make(std::move(params));
}

// The geometry as the tile sees it. The rows of a linear layer are columns of one image.
struct Geometry {
  std::int64_t images, channels, filters;  // of a convolution group
  Size2 input, output, kernel, stride, padding, dilation;
};
Geometry geometry(const LayerShape& s) {
  if (s.is_matrix()) return {1, s.c, s.k, {1, s.n}, {1, s.n}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  return {s.n,      s.c_per_group(), s.k_per_group(), s.input,   s.output,
          s.kernel, s.stride,        s.padding,       s.dilation};
}

GroupLayout layout_of(const Geometry& g, Operand role) {
  switch (role) {
    case Operand::kA:
      return {g.images, g.input.h, g.input.w, g.channels, kLanes};
    case Operand::kG:
      return {g.images, g.output.h, g.output.w, g.filters, kLanes};
    case Operand::kW:
      break;
  }
  return {1, g.kernel.h * g.kernel.w, g.filters, g.channels, kLanes};
}

// Where convolution group `group` of a tensor lies in its rows of channels: element(place) is its index.
std::int64_t element(const LayerShape& s, const Geometry& g, Operand role, std::int64_t group,
                     const GroupLayout::Place& at) {
  if (role == Operand::kW) {
    const std::int64_t filter = group * g.filters + at.column;
    return (filter * g.kernel.h * g.kernel.w + at.row) * g.channels + at.channel;
  }
  const Size2 plane = role == Operand::kA ? g.input : g.output;
  const std::int64_t all = role == Operand::kA ? s.c : s.k;
  const std::int64_t own = role == Operand::kA ? g.channels : g.filters;
  return ((at.image * plane.h + at.row) * plane.w + at.column) * all + group * own + at.channel;
}

template <typename Value>
MemoryImage image_of(const LayerShape& s, Operand role, std::int64_t group,
                     const std::vector<Value>& tensor) {
  const Geometry g = geometry(s);
  const GroupLayout layout = layout_of(g, role);
  MemoryImage image;
  image.values.assign(static_cast<std::size_t>(layout.stored_elements()), 0.0F);
  image.keep.assign(image.values.size() / kLanes, 0);
  GroupLayout::Place at;
  for (at.image = 0; at.image < layout.images; ++at.image) {
    for (at.row = 0; at.row < layout.rows; ++at.row) {
      for (at.column = 0; at.column < layout.columns; ++at.column) {
        for (at.channel = 0; at.channel < layout.channels; ++at.channel) {
          const auto to = static_cast<std::size_t>(layout.offset(at));
          image.values[to] =
              static_cast<float>(tensor[static_cast<std::size_t>(element(s, g, role, group, at))]);
          image.keep[to / kLanes] |= static_cast<std::uint16_t>(1U << (to % kLanes));
        }
      }
    }
  }
  return image;
}

std::uint32_t pair(std::int64_t high, std::int64_t low) {
  return static_cast<std::uint32_t>(high << 16 | low);
}
std::int64_t log2_of(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

// A block of columns as large as fits; of rows one group, or all that a transposer's columns serve.
std::uint32_t blocks(const std::vector<PlacedProduct>& placed, const LayerTileInfo& tile) {
  std::int64_t steps = 1, groups = 1;
  bool transposed = false;
  for (const PlacedProduct& product : placed) {
    steps = std::max(steps, product.rows->steps());
    groups = std::max(groups, product.grid.column_groups);
    transposed = transposed || product.rows->axis != LaneAxis::kChannels;
  }
  const std::int64_t lines = ceil_div(steps, kDepth);
  const auto fit = [&](std::int64_t wanted, std::int64_t space) {
    if (lines > space) throw std::invalid_argument("a stream does not fit the scratchpads");
    return std::clamp<std::int64_t>(wanted, 1, space / lines);
  };
  const std::int64_t rows = transposed ? ceil_div(kLanes, tile.rows) : 1;
  return pair(fit(rows, tile.row_space), fit(groups, tile.column_space));
}

std::vector<std::uint32_t> registers(const Layer& layer, Operation op, const LayerTileInfo& tile,
                                     bool primary_rows, const std::vector<PlacedProduct>& placed) {
  const Geometry g = geometry(layer.shape);
  constexpr std::uint32_t kNeverBypass = 1U << 4;
  return {static_cast<std::uint32_t>(op) | (primary_rows ? 4U : 0U) | kNeverBypass,
          static_cast<std::uint32_t>(g.images),
          static_cast<std::uint32_t>(g.channels),
          static_cast<std::uint32_t>(g.filters),
          pair(g.input.h, g.input.w),
          pair(g.output.h, g.output.w),
          pair(g.kernel.h, g.kernel.w),
          pair(log2_of(g.stride.h), log2_of(g.stride.w)),
          pair(g.padding.h, g.padding.w),
          pair(g.dilation.h, g.dilation.w),
          0,
          0,
          0,
          blocks(placed, tile)};
}

}  // namespace

std::int64_t MemoryImage::elements() const {
  std::int64_t count = 0;
  for (const std::uint16_t block : keep) count += std::popcount(block);
  return count;
}

std::int64_t MemoryImage::zeros() const {
  std::int64_t count = elements();
  for (const float value : values) count -= value != 0 ? 1 : 0;
  return count;
}

LayerRun layer_run(const Layer& layer, Operation op, const LayerTileInfo& tile, std::uint64_t seed) {
  const LayerShape& shape = layer.shape;
  const Operand on_rows = choose_scheduled(layer, op, OperandRule::kSparser);
  const auto [primary, secondary] = operands(op);
  const bool primary_rows = on_rows == primary;
  const std::vector<LaneProduct> products = lane_products(layer, op, kLanes);
  const std::vector<PlacedProduct> placed = place_products(
      products, on_rows, {.rows = tile.rows, .columns = tile.columns, .lanes = kLanes, .tiles = 1});
  const LayerValues values = layer_values(layer, seed);
  const std::vector<double> expected = reference_result(shape, op, values);
  const Operand output = op == Operation::kForward     ? Operand::kG
                         : op == Operation::kInputGrad ? Operand::kA
                                                       : Operand::kW;

  LayerRun run{fmt::format("{} {} ({})", layer.name, operation_name(op), shape.describe()), {}, 0, 0};
  for (std::int64_t group = 0; group < shape.groups; ++group) {
    const auto image = [&](Operand role) { return image_of(shape, role, group, values.of(role).data); };
    run.launches.push_back({registers(layer, op, tile, primary_rows, placed),
                            image(primary_rows ? secondary : primary), image(on_rows),
                            image_of(shape, output, group, expected)});
  }
  const auto tensordash = machine("tensordash", tile);
  SimOptions functional;
  functional.engine = Engine::kFunctional;
  functional.seed = seed;
  run.cycles = tensordash->simulate(layer, op, functional).cycles;
  if (run.cycles != tensordash->simulate(layer, op, {}).cycles) throw std::logic_error("the engines differ");
  run.dense_cycles = machine("dense", tile)->simulate(layer, op, {}).cycles;
  return run;
}

Trace cut_layer(const Layer& layer, const LayerCut& cut) {
  const LayerShape& s = layer.shape;
  const LayerShape shape = s.is_matrix()
                               ? LayerShape::linear(cut.images, cut.channels, cut.filters)
                               : LayerShape::conv2d(cut.images, cut.channels, cut.filters, cut.plane,
                                                    s.kernel, s.stride, s.padding, s.dilation);
  const auto part = [&](const MaskView& mask, Size2 whole, std::int64_t images, Size2 plane,
                        std::int64_t channels) {
    std::vector<bool> bits;
    for (std::int64_t n = 0; n < images; ++n) {
      for (std::int64_t y = 0; y < plane.h; ++y) {
        for (std::int64_t x = 0; x < plane.w; ++x) {
          for (std::int64_t c = 0; c < channels; ++c)
            bits.push_back(mask.bit((n * whole.h + y) * whole.w + x, c));
        }
      }
    }
    return bits;
  };
  TraceBuilder builder("cut");
  builder.add_layer(layer.name, shape)
      .mask(Operand::kA, part(layer.a.mask, s.input, shape.n, shape.input, shape.c))
      .mask(Operand::kW, part(layer.w.mask, s.kernel, shape.k, shape.kernel, shape.c))
      .mask(Operand::kG, part(layer.g.mask, s.output, shape.n, shape.output, shape.k));
  return builder.build();
}

}  // namespace lacuna::rtl
