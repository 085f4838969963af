#include "models/tensordash/storage/stored_tensor.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "base/error.hpp"

namespace lacuna::tensordash {
namespace {

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
