#include "models/tensordash/engine/operand_fetch.hpp"

#include <algorithm>

namespace lacuna::tensordash {

GroupedTensor::GroupedTensor(const LayerShape& shape, Operand role, const TensorValues& values,
                             std::int64_t side)
    : positions_(role == Operand::kA   ? shape.input_positions()
                 : role == Operand::kG ? shape.output_positions()
                                       : shape.taps()),
      by_image_(role == Operand::kW || shape.is_matrix()) {
  const std::int64_t rows = static_cast<std::int64_t>(values.data.size()) / values.channels;
  const Size2 plane = role == Operand::kG ? shape.output : shape.input;
  layout_ = by_image_ ? GroupLayout{1, positions_, rows / positions_, values.channels, side}
                      : GroupLayout{rows / positions_, plane.h, plane.w, values.channels, side};
  memory_.assign(static_cast<std::size_t>(layout_.stored_elements()), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    GroupLayout::Place at = place(row);
    for (at.channel = 0; at.channel < values.channels; ++at.channel) {
      memory_[static_cast<std::size_t>(layout_.offset(at))] = values.at(row, at.channel);
    }
  }
}

GroupLayout::Place GroupedTensor::place(std::int64_t row) const {
  const std::int64_t image = row / positions_, position = row % positions_;
  if (by_image_) return {0, position, image, 0};
  return {image, position / layout_.columns, position % layout_.columns, 0};
}

const float* GroupedTensor::block(std::int64_t row, std::int64_t block) const {
  GroupLayout::Place at = place(row);
  at.channel = block * layout_.side;
  return memory_.data() + layout_.offset(at);
}

void Transposer::fill(std::int64_t line, const float* block) {
  float* to = &filling_[static_cast<std::size_t>(line * side_)];
  if (block != nullptr) {
    std::copy_n(block, side_, to);
  } else {
    std::fill_n(to, side_, 0.0F);
  }
}

void Transposer::read(std::int64_t column, float* out) const {
  for (std::int64_t line = 0; line < side_; ++line) {
    out[line] = full_[static_cast<std::size_t>(line * side_ + column)];
  }
}

OperandFetch::OperandFetch(const OperandStreams& streams, const GroupedTensor& memory)
    : streams_(streams),
      memory_(memory),
      steps_(streams.steps()),
      channel_blocks_((streams.channel0 + streams.channels - 1) / memory.side() -
                      streams.channel0 / memory.side() + 1),
      transposer_(memory.side()) {
  if (streams.axis == LaneAxis::kChannels) return;
  columns_.resize(static_cast<std::size_t>(memory.side() * steps_ * streams.lanes));
  seen_.resize(static_cast<std::size_t>(streams.count() / streams.channels * channel_blocks_));
}

std::int64_t OperandFetch::bundle_of(std::int64_t stream) const {
  const std::int64_t tap = stream / streams_.channels;  // over images there is one stream per channel
  const std::int64_t channel = streams_.channel0 + stream % streams_.channels;
  return tap * channel_blocks_ + channel / memory_.side() - streams_.channel0 / memory_.side();
}

void OperandFetch::read_blocks(std::int64_t stream, std::int64_t step, float* lanes_out) const {
  OperandStreams::LaneRows at;
  streams_.locate(stream, step, at);
  std::fill_n(lanes_out, streams_.lanes, 0.0F);
  if (at.row[0] < 0) return;
  // The channels of a convolution group need not begin with a block.
  const std::int64_t side = memory_.side();
  for (std::int64_t lane = 0; lane < at.real;) {
    const std::int64_t channel = at.channel + lane;
    const std::int64_t here = std::min(side - channel % side, at.real - lane);
    std::copy_n(memory_.block(at.row[0], channel / side) + channel % side, here, lanes_out + lane);
    lane += here;
  }
}

void OperandFetch::transpose(std::int64_t stream) {
  const std::int64_t side = memory_.side();
  const std::int64_t block = (streams_.channel0 + stream % streams_.channels) / side;
  OperandStreams::LaneRows at;
  for (std::int64_t step = 0; step < steps_; ++step) {
    streams_.locate(stream, step, at);
    for (std::int64_t lane = 0; lane < side; ++lane) {
      transposer_.fill(lane, at.row[lane] >= 0 ? memory_.block(at.row[lane], block) : nullptr);
    }
    transposer_.turn();
    for (std::int64_t column = 0; column < side; ++column) {
      transposer_.read(column, &columns_[static_cast<std::size_t>((column * steps_ + step) * side)]);
    }
  }
  bundle_ = bundle_of(stream);
  if (seen_[static_cast<std::size_t>(bundle_)]) return;
  seen_[static_cast<std::size_t>(bundle_)] = true;
  transposed_groups_ += steps_;
}

std::uint64_t OperandFetch::values(std::int64_t stream, std::int64_t step, float* lanes_out) {
  if (streams_.axis == LaneAxis::kChannels) {
    read_blocks(stream, step, lanes_out);
  } else {
    if (bundle_of(stream) != bundle_) transpose(stream);
    const std::int64_t column = (streams_.channel0 + stream % streams_.channels) % memory_.side();
    std::copy_n(&columns_[static_cast<std::size_t>((column * steps_ + step) * streams_.lanes)],
                streams_.lanes, lanes_out);
  }
  std::uint64_t nonzero = 0;
  for (int lane = 0; lane < streams_.lanes; ++lane) {
    nonzero |= static_cast<std::uint64_t>(is_nonzero(lanes_out[lane])) << lane;
  }
  return nonzero;
}

}  // namespace lacuna::tensordash
