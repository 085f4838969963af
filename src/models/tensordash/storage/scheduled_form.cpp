#include "models/tensordash/storage/scheduled_form.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numeric>

#include "base/error.hpp"

namespace lacuna::tensordash {
namespace {

// First element of each step.
std::vector<std::int64_t> step_offsets(const GroupShape& shape) {
  std::vector<std::int64_t> offsets{0};
  for (const std::int32_t lanes : shape) offsets.push_back(offsets.back() + lanes);
  return offsets;
}

int bits_for(std::size_t choices) { return static_cast<int>(std::bit_width(choices - 1)); }

void append(BitString& bits, std::uint32_t field, int width) {
  for (int i = 0; i < width;) {
    const auto shift = static_cast<int>(bits.size % 8);
    if (shift == 0) bits.bytes.push_back(0);
    const int count = std::min(8 - shift, width - i);
    bits.bytes.back() |= static_cast<std::uint8_t>(((field >> i) & ((1U << count) - 1)) << shift);
    bits.size += count;
    i += count;
  }
}

std::uint32_t read(const BitString& bits, std::int64_t& at, int width, std::string_view where) {
  if (width > bits.size - at)
    throw InputError(where, fmt::format("the bits end at {}", bits.size), kStoreAgain);
  std::uint32_t field = 0;
  for (int i = 0; i < width;) {
    const auto shift = static_cast<int>(at % 8);
    const int count = std::min(8 - shift, width - i);
    const std::uint32_t part = (bits.bytes[static_cast<std::size_t>(at / 8)] >> shift) & ((1U << count) - 1);
    field |= part << i;
    at += count;
    i += count;
  }
  return field;
}

std::uint32_t value_field(float value, DataType type) {
  const DataTypeFacts& facts = facts_of(type);
  const std::uint32_t bits = facts.encode(value);
  if (std::bit_cast<std::uint32_t>(facts.decode(bits)) != std::bit_cast<std::uint32_t>(value)) {
    throw InputError("scheduled form", fmt::format("{} is not a {} value", value, facts.name),
                     fmt::format("round the tensor to {} first", facts.name));
  }
  return bits;
}

void group_shape(const std::vector<GroupStep>& steps, GroupShape& shape) {
  shape.clear();
  for (const GroupStep& step : steps) shape.push_back(step.lanes);
}

}  // namespace

std::int64_t group_elements(const GroupShape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{0});
}

GroupShape vector_shape(std::int64_t values, int lanes) {
  GroupShape shape;
  for (std::int64_t at = 0; at < values; at += lanes)
    shape.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(lanes, values - at)));
  return shape;
}

FormBits form_bits(const Connectivity& connectivity) {
  return {.move = bits_for(connectivity.movements().size()),
          .advance = bits_for(static_cast<std::size_t>(connectivity.depth()))};
}

bool is_effectual(float value) { return (std::bit_cast<std::uint32_t>(value) << 1) != 0; }

ScheduledGroup ScheduledCodec::encode(const GroupShape& shape, std::span<const float> values) const {
  const std::vector<std::int64_t> offsets = step_offsets(shape);
  const auto steps = static_cast<std::int64_t>(shape.size());
  std::vector<std::uint64_t> words(shape.size() + static_cast<std::size_t>(selector_.depth()), 0);
  for (std::size_t step = 0; step < shape.size(); ++step) {
    for (std::int32_t lane = 0; lane < shape[step]; ++lane) {
      if (is_effectual(values[static_cast<std::size_t>(offsets[step] + lane)]))
        words[step] |= std::uint64_t{1} << lane;
    }
  }
  ScheduledGroup group;
  for (std::int64_t position = 0; position < steps;) {
    const std::int32_t slots = shape[static_cast<std::size_t>(position)];
    const std::size_t first = group.values.size();
    group.values.resize(first + static_cast<std::size_t>(slots), 0.0F);
    group.moves.resize(first + static_cast<std::size_t>(slots), 0);
    std::uint64_t* window = words.data() + position;
    selector_.select(window, low_bits(slots), [&](int movement, std::uint64_t lanes) {
      const auto source_step = static_cast<std::size_t>(position + selector_.movement(movement).step);
      for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        const std::size_t slot = first + static_cast<std::size_t>(lane);
        group.values[slot] =
            values[static_cast<std::size_t>(offsets[source_step] + selector_.source_lane(lane, movement))];
        group.moves[slot] = static_cast<std::uint16_t>(movement);
      }
    });
    const int advance = selector_.drained(window);
    group.advances.push_back(static_cast<std::uint8_t>(advance));
    position += advance;
  }
  return group;
}

std::vector<float> ScheduledCodec::decode(const GroupShape& shape, const ScheduledGroup& group,
                                          std::string_view where) const {
  const auto fail = [&](const std::string& cause) { throw InputError(where, cause, kStoreAgain); };
  if (group.moves.size() != group.values.size()) fail("values and movements differ in number");
  const std::vector<std::int64_t> offsets = step_offsets(shape);
  const auto steps = static_cast<std::int64_t>(shape.size());
  std::vector<float> values(static_cast<std::size_t>(offsets.back()), 0.0F);
  std::int64_t position = 0;
  std::size_t slot = 0;
  for (std::size_t row = 0; row < group.advances.size(); ++row) {
    if (position >= steps) fail(fmt::format("row {} lies past the last of {} steps", row, steps));
    const std::int32_t slots = shape[static_cast<std::size_t>(position)];
    if (group.values.size() - slot < static_cast<std::size_t>(slots))
      fail(fmt::format("row {} ends early", row));
    for (int lane = 0; lane < slots; ++lane, ++slot) {
      const int move = group.moves[slot];
      if (move >= movements_)
        fail(fmt::format("row {} lane {}: movement {} of {}", row, lane, move, movements_));
      // A zero was not moved by anyone: its idle multiplexer drives nothing.
      if (!is_effectual(group.values[slot])) continue;
      const std::int64_t step = position + selector_.movement(move).step;
      const int source = selector_.source_lane(lane, move);
      if (step >= steps || source >= shape[static_cast<std::size_t>(step)])
        fail(fmt::format("row {} lane {}: the value comes from outside the group", row, lane));
      float& value = values[static_cast<std::size_t>(offsets[static_cast<std::size_t>(step)] + source)];
      if (is_effectual(value)) fail(fmt::format("row {} lane {}: the value's place is taken", row, lane));
      value = group.values[slot];
    }
    const int advance = group.advances[row];
    if (advance < 1 || advance > selector_.depth())
      fail(fmt::format("row {} advances by {} steps of {}", row, advance, selector_.depth()));
    position += advance;
  }
  if (position < steps) fail(fmt::format("the rows end at step {} of {}", position, steps));
  if (slot != group.values.size()) fail("there are more values than the rows hold");
  return values;
}

RowCount count_rows(const LaneSelector& selector, std::span<std::uint64_t> words,
                    std::span<const std::int32_t> lanes) {
  const auto nothing = [](int, std::uint64_t) {};
  RowCount count;
  for (std::size_t position = 0; position < lanes.size();) {
    std::uint64_t* window = words.data() + position;
    selector.select(window, low_bits(lanes[position]), nothing);
    ++count.rows;
    count.slots += lanes[position];
    position += static_cast<std::size_t>(selector.drained(window));
  }
  return count;
}

StoredTensor store_tensor(const ScheduledCodec& codec, const TensorGroups& groups,
                          std::span<const float> values, std::int64_t channels, DataType type) {
  StoredTensor stored;
  std::vector<GroupStep> steps;
  GroupShape shape;
  std::vector<float> elements;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    groups.steps(g, steps);
    group_shape(steps, shape);
    elements.clear();
    for (const GroupStep& step : steps) {
      const auto first = values.begin() + (step.row * channels + step.channel);
      elements.insert(elements.end(), first, first + step.lanes);
    }
    const ScheduledGroup group = codec.encode(shape, elements);
    stored.pointers.push_back(stored.bits.size);
    std::size_t slot = 0;
    std::size_t position = 0;
    for (const std::uint8_t advance : group.advances) {
      append(stored.bits, advance - 1U, codec.bits().advance);
      for (std::int32_t lane = 0; lane < shape[position]; ++lane, ++slot) {
        append(stored.bits, group.moves[slot], codec.bits().move);
        append(stored.bits, value_field(group.values[slot], type), bits_of(type));
      }
      position += advance;
    }
  }
  return stored;
}

ScheduledGroup read_group(const ScheduledCodec& codec, const GroupShape& shape, const BitString& bits,
                          std::int64_t& at, DataType type, std::string_view where) {
  ScheduledGroup group;
  // The shape says where the last row is: no count of rows is stored.
  for (std::size_t position = 0; position < shape.size(); position += group.advances.back()) {
    const std::uint32_t advance = read(bits, at, codec.bits().advance, where) + 1;
    group.advances.push_back(static_cast<std::uint8_t>(advance));
    for (std::int32_t lane = 0; lane < shape[position]; ++lane) {
      group.moves.push_back(static_cast<std::uint16_t>(read(bits, at, codec.bits().move, where)));
      group.values.push_back(facts_of(type).decode(read(bits, at, bits_of(type), where)));
    }
  }
  return group;
}

std::vector<float> load_tensor(const ScheduledCodec& codec, const TensorGroups& groups,
                               const StoredTensor& stored, std::int64_t rows, std::int64_t channels,
                               DataType type, std::string_view where) {
  const auto fail = [&](const std::string& cause) { throw InputError(where, cause, kStoreAgain); };
  const auto bytes = static_cast<std::int64_t>(stored.bits.bytes.size());
  if (stored.bits.size < 0 || stored.bits.size > bytes * 8)
    fail(fmt::format("{} bytes do not hold {} bits", bytes, stored.bits.size));
  if (static_cast<std::int64_t>(stored.pointers.size()) != groups.count())
    fail(fmt::format("{} pointers for {} groups", stored.pointers.size(), groups.count()));
  std::vector<float> values(static_cast<std::size_t>(rows * channels), 0.0F);
  std::vector<GroupStep> steps;
  GroupShape shape;
  std::int64_t at = 0;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    groups.steps(g, steps);
    group_shape(steps, shape);
    const std::string place = fmt::format("{}: group {}", where, g);
    if (stored.pointers[static_cast<std::size_t>(g)] != at)
      throw InputError(place, "its pointer does not point at it", kStoreAgain);
    const std::vector<float> elements =
        codec.decode(shape, read_group(codec, shape, stored.bits, at, type, place), place);
    auto element = elements.begin();
    for (const GroupStep& step : steps) {
      std::copy_n(element, step.lanes, values.begin() + (step.row * channels + step.channel));
      element += step.lanes;
    }
  }
  if (at != stored.bits.size) fail(fmt::format("{} bits follow the last group", stored.bits.size - at));
  return values;
}

}  // namespace lacuna::tensordash
