#include "sim/workload/operand_streams.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/ceil_div.hpp"

namespace lacuna {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> kernel_positions(Size2 kernel, VisitOrder order) {
  std::vector<std::pair<std::int64_t, std::int64_t>> positions;
  if (order == VisitOrder::kRowMajor) {
    for (std::int64_t ky = 0; ky < kernel.h; ++ky) {
      for (std::int64_t kx = 0; kx < kernel.w; ++kx) positions.emplace_back(ky, kx);
    }
  } else {
    for (std::int64_t kx = 0; kx < kernel.w; ++kx) {
      for (std::int64_t ky = 0; ky < kernel.h; ++ky) positions.emplace_back(ky, kx);
    }
  }
  return positions;
}

struct Builder {
  const Layer& layer;
  const LayerShape& shape;
  int lanes;
  VisitOrder order;

  OperandStreams base(Operand role, std::int64_t group) const {
    OperandStreams streams;
    streams.role = role;
    streams.mask = layer.tensor(role).mask;
    streams.lanes = lanes;
    streams.column_major = order == VisitOrder::kColumnMajor;
    switch (role) {
      case Operand::kA:
        streams.images = shape.n;
        streams.plane = shape.input;
        streams.channels = shape.c_per_group();
        streams.channel0 = group * streams.channels;
        break;
      case Operand::kG:
        streams.images = shape.n;
        streams.plane = shape.output;
        streams.channels = shape.k_per_group();
        streams.channel0 = group * streams.channels;
        break;
      case Operand::kW:
        streams.images = shape.k_per_group();
        streams.image0 = group * streams.images;
        streams.plane = shape.kernel;
        streams.channels = shape.c_per_group();
        break;
    }
    return streams;
  }

  // The windows of the forward product: taps of A around each output position.
  std::vector<Tap> window_taps() const {
    std::vector<Tap> taps;
    for (const auto& [ky, kx] : kernel_positions(shape.kernel, order)) {
      taps.push_back({ky * shape.dilation.h - shape.padding.h, kx * shape.dilation.w - shape.padding.w});
    }
    return taps;
  }

  LaneProduct forward(std::int64_t group) const {
    LaneProduct product{base(Operand::kA, group), base(Operand::kW, group), group, {0, 0}};
    product.primary.grid = shape.output;
    product.primary.stride = shape.stride;
    product.primary.taps = window_taps();
    for (const auto& [ky, kx] : kernel_positions(shape.kernel, order))
      product.secondary.taps.push_back({ky, kx});
    return product;
  }

  LaneProduct input_grad(std::int64_t group, Size2 phase) const {
    LaneProduct product{base(Operand::kG, group), base(Operand::kW, group), group, phase};
    product.primary.grid = {ceil_div(shape.input.h - phase.h, shape.stride.h),
                            ceil_div(shape.input.w - phase.w, shape.stride.w)};
    product.secondary.axis = LaneAxis::kImages;
    auto positions = kernel_positions(shape.kernel, order);
    if (order == VisitOrder::kColumnMajor) std::ranges::reverse(positions);
    for (const auto& [ky, kx] : positions) {
      const std::int64_t dy = phase.h + shape.padding.h - ky * shape.dilation.h;
      const std::int64_t dx = phase.w + shape.padding.w - kx * shape.dilation.w;
      if (dy % shape.stride.h != 0 || dx % shape.stride.w != 0) continue;
      product.primary.taps.push_back({dy / shape.stride.h, dx / shape.stride.w});
      product.secondary.taps.push_back({ky, kx});
    }
    return product;
  }

  LaneProduct weight_grad(std::int64_t group) const {
    LaneProduct product{base(Operand::kG, group), base(Operand::kA, group), group, {0, 0}};
    const LaneAxis axis = shape.is_matrix() ? LaneAxis::kImages : LaneAxis::kPositions;
    product.primary.axis = axis;
    product.primary.grid = shape.output;
    product.primary.taps = {{0, 0}};
    product.secondary.axis = axis;
    product.secondary.grid = shape.output;
    product.secondary.stride = shape.stride;
    product.secondary.taps = window_taps();
    return product;
  }
};

// The same products, one per `images` samples (or rows).
std::vector<LaneProduct> in_parts(const std::vector<LaneProduct>& products, std::int64_t images) {
  std::vector<LaneProduct> split;
  for (LaneProduct product : products) {
    const std::int64_t samples = product.primary.images;
    for (std::int64_t n = 0; n < samples; n += images) {
      for (OperandStreams* operand : {&product.primary, &product.secondary}) {
        if (operand->role == Operand::kW) continue;
        operand->image0 = n;
        operand->images = images;
      }
      split.push_back(product);
    }
  }
  return split;
}

}  // namespace

std::int64_t OperandStreams::count() const {
  switch (axis) {
    case LaneAxis::kChannels:
      return images * grid.h * grid.w;
    case LaneAxis::kPositions:
      return static_cast<std::int64_t>(taps.size()) * channels;
    case LaneAxis::kImages:
      return channels;
  }
  return 0;
}

std::int64_t OperandStreams::steps() const {
  return (axis == LaneAxis::kPositions ? images : std::ssize(taps)) * axis_steps();
}

std::int64_t OperandStreams::source_row(std::int64_t image, std::int64_t position, const Tap& tap) const {
  const Size2 at = grid_place(position);
  const std::int64_t y = at.h * stride.h + tap.dy;
  const std::int64_t x = at.w * stride.w + tap.dx;
  if (y < 0 || y >= plane.h || x < 0 || x >= plane.w) return -1;
  return ((image0 + image) * plane.h + y) * plane.w + x;
}

void OperandStreams::locate(std::int64_t stream, std::int64_t step, LaneRows& at) const {
  at.same_row = axis == LaneAxis::kChannels;
  const std::int64_t groups = axis_steps();
  const std::int64_t first = step % groups * lanes, outer = step / groups;  // index of lane 0 on the axis
  at.real = std::min<std::int64_t>(lanes, axis_elements() - first);
  switch (axis) {
    case LaneAxis::kChannels: {
      const std::int64_t positions = grid.h * grid.w;
      at.channel = channel0 + first;
      at.row[0] = source_row(stream / positions, stream % positions, taps[static_cast<std::size_t>(outer)]);
      return;
    }
    case LaneAxis::kPositions: {
      const Tap& tap = taps[static_cast<std::size_t>(stream / channels)];
      at.channel = channel0 + stream % channels;
      // Consecutive positions without a division each.
      auto [gy, gx] = grid_place(first);
      for (std::int64_t lane = 0; lane < at.real; ++lane) {
        const std::int64_t y = gy * stride.h + tap.dy;
        const std::int64_t x = gx * stride.w + tap.dx;
        const bool inside = y >= 0 && y < plane.h && x >= 0 && x < plane.w;
        at.row[lane] = inside ? ((image0 + outer) * plane.h + y) * plane.w + x : kBorder;
        if (column_major) {
          if (++gy == grid.h) {
            gy = 0;
            ++gx;
          }
        } else if (++gx == grid.w) {
          gx = 0;
          ++gy;
        }
      }
      break;
    }
    case LaneAxis::kImages: {
      at.channel = channel0 + stream;
      for (std::int64_t lane = 0; lane < at.real; ++lane) {
        at.row[lane] = source_row(first + lane, 0, taps[static_cast<std::size_t>(outer)]);
      }
      break;
    }
  }
  std::fill(at.row + at.real, at.row + lanes, kNoElement);
}

std::uint64_t OperandStreams::word(std::int64_t stream, std::int64_t step) const {
  LaneRows at;
  locate(stream, step, at);
  std::uint64_t bits = 0;
  if (at.same_row) {
    if (at.row[0] >= 0) bits |= mask.bits(at.row[0], at.channel, at.real);
    return bits;
  }
  for (std::int64_t lane = 0; lane < at.real; ++lane) {
    if (at.row[lane] >= 0) bits |= static_cast<std::uint64_t>(mask.bit(at.row[lane], at.channel)) << lane;
  }
  return bits;
}

std::uint64_t OperandStreams::values(std::int64_t stream, std::int64_t step, const TensorValues& source,
                                     float* lanes_out) const {
  LaneRows at;
  locate(stream, step, at);
  std::fill_n(lanes_out, lanes, 0.0F);
  if (at.same_row) {
    if (at.row[0] >= 0) std::copy_n(source.row(at.row[0]) + at.channel, at.real, lanes_out);
  } else {
    for (std::int64_t lane = 0; lane < at.real; ++lane) {
      if (at.row[lane] >= 0) lanes_out[lane] = source.at(at.row[lane], at.channel);
    }
  }
  std::uint64_t nonzero = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    nonzero |= static_cast<std::uint64_t>(is_nonzero(lanes_out[lane])) << lane;
  }
  return nonzero;
}

std::int64_t OperandStreams::axis_elements() const {
  switch (axis) {
    case LaneAxis::kChannels:
      return channels;
    case LaneAxis::kPositions:
      return grid.h * grid.w;
    case LaneAxis::kImages:
      return images;
  }
  return 0;
}

std::int64_t LaneProduct::output_index(const LayerShape& shape, Operation op, std::int64_t primary_stream,
                                       std::int64_t secondary_stream) const {
  switch (op) {
    case Operation::kForward: {  // primary: (image, position) of the outputs; secondary: filter of the group
      const std::int64_t positions = shape.output_positions();
      const Size2 at = primary.grid_place(primary_stream % positions);
      const std::int64_t image = primary.image0 + primary_stream / positions;
      const std::int64_t row = (image * shape.output.h + at.h) * shape.output.w + at.w;
      return row * shape.k + group * shape.k_per_group() + secondary_stream;
    }
    case Operation::kInputGrad: {  // primary: (image, position of the phase); secondary: channel of the group
      const std::int64_t positions = primary.grid.h * primary.grid.w;
      const std::int64_t image = primary.image0 + primary_stream / positions;
      const Size2 at = primary.grid_place(primary_stream % positions);
      const std::int64_t y = phase.h + at.h * shape.stride.h;
      const std::int64_t x = phase.w + at.w * shape.stride.w;
      return ((image * shape.input.h + y) * shape.input.w + x) * shape.c + group * shape.c_per_group() +
             secondary_stream;
    }
    case Operation::kWeightGrad: {  // primary: filter of the group; secondary: (tap, channel)
      const std::int64_t channels = shape.c_per_group();
      std::int64_t tap = secondary_stream / channels;
      if (secondary.column_major) tap = (tap % shape.kernel.h) * shape.kernel.w + tap / shape.kernel.h;
      const std::int64_t filter = group * shape.k_per_group() + primary_stream;
      return (filter * shape.taps() + tap) * channels + secondary_stream % channels;
    }
  }
  assert(false);
  return 0;
}

std::vector<LaneProduct> lane_products(const Layer& layer, Operation op, int lanes, VisitOrder order) {
  const Builder builder{layer, layer.shape, lanes, order};
  std::vector<LaneProduct> products;
  for (std::int64_t group = 0; group < layer.shape.groups; ++group) {
    if (op == Operation::kForward) products.push_back(builder.forward(group));
    if (op == Operation::kWeightGrad) products.push_back(builder.weight_grad(group));
    if (op != Operation::kInputGrad) continue;
    for (std::int64_t py = 0; py < std::min(layer.shape.stride.h, layer.shape.input.h); ++py) {
      for (std::int64_t px = 0; px < std::min(layer.shape.stride.w, layer.shape.input.w); ++px) {
        LaneProduct product = builder.input_grad(group, {py, px});
        if (!product.primary.taps.empty())
          products.push_back(std::move(product));  // no tap: all zero, no work
      }
    }
  }
  // A step of a recurrent layer follows the one before.
  const std::int64_t rows = layer.shape.rows_at_once(op);
  if (rows < layer.shape.n) return in_parts(products, rows);
  return order == VisitOrder::kColumnMajor && !layer.shape.is_matrix() ? in_parts(products, 1) : products;
}

}  // namespace lacuna
