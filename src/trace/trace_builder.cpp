#include "trace/trace_builder.hpp"

#include <cstring>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text/quote.hpp"
#include "trace/format/layer_list.hpp"

namespace lacuna {

TraceBuilder::TraceBuilder(std::string name)
    : name_(std::move(name)), storage_(std::make_shared<TraceStorage>()) {
  info_.model = name_;
}

TraceBuilder& TraceBuilder::add_layer(std::string name, const LayerShape& shape, std::int64_t steps) {
  const std::string place = name_ + ": layer " + quote_name(name);
  shape.validate(place);
  check_steps(shape, steps, place);
  pending_.push_back(
      {.name = std::move(name), .shape = shape, .steps = steps, .operations = {}, .parts = {}});
  return *this;
}

TraceBuilder& TraceBuilder::operations(const std::optional<PerOperation<bool>>& recorded) {
  pending_.back().operations = recorded;
  return *this;
}

void TraceBuilder::wrong_size(TraceTensor which, std::size_t got, std::int64_t needed) const {
  throw InputError(name_ + ": layer " + quote_name(pending_.back().name),
                   fmt::format("{} was given {} elements, its shape needs {}", which.name(), got, needed),
                   "give one value per element");
}

TraceBuilder& TraceBuilder::packed_mask(TraceTensor which, std::span<const std::uint8_t> bytes) {
  const std::int64_t needed = extent(which).mask_bytes();
  if (static_cast<std::int64_t>(bytes.size()) != needed) wrong_size(which, bytes.size(), needed);
  std::uint8_t* block = allocate(needed);
  std::memcpy(block, bytes.data(), bytes.size());
  return adopt_mask(which, block);
}

TraceBuilder& TraceBuilder::mask(TraceTensor which, const std::vector<bool>& nonzero) {
  const TensorExtent size = extent(which);
  const std::int64_t needed = size.rows * size.channels;
  if (static_cast<std::int64_t>(nonzero.size()) != needed) wrong_size(which, nonzero.size(), needed);
  std::uint8_t* block = allocate(size.mask_bytes());
  std::memset(block, 0, static_cast<std::size_t>(size.mask_bytes()));
  const std::int64_t row_bytes = (size.channels + 7) / 8;
  for (std::int64_t i = 0; i < needed; ++i) {
    const std::int64_t r = i / size.channels;
    const std::int64_t c = i % size.channels;
    if (nonzero[static_cast<std::size_t>(i)]) {
      block[r * row_bytes + c / 8] |= static_cast<std::uint8_t>(1U << (c % 8));
    }
  }
  return adopt_mask(which, block);
}

TraceBuilder& TraceBuilder::values(TraceTensor which, std::span<const float> values, DataType type) {
  const TensorExtent size = extent(which);
  const std::int64_t needed = size.rows * size.channels;
  if (static_cast<std::int64_t>(values.size()) != needed) wrong_size(which, values.size(), needed);
  std::uint8_t* block = allocate(needed * bytes_of(type));
  for (std::int64_t i = 0; i < needed; ++i)
    store_value(type, values[static_cast<std::size_t>(i)], block + i * bytes_of(type));
  return adopt_values(which, block, type);
}

TraceBuilder& TraceBuilder::adopt_mask(TraceTensor which, const std::uint8_t* bytes) {
  parts(which).mask = bytes;
  return *this;
}

TraceBuilder& TraceBuilder::adopt_values(TraceTensor which, const std::uint8_t* bytes, DataType type) {
  const TensorExtent size = extent(which);
  parts(which).values = {bytes, type, size.rows, size.channels};
  return *this;
}

Trace TraceBuilder::build() {
  if (pending_.empty()) throw InputError(name_, "the trace has no layers", "add at least one");
  std::set<std::string> names;
  std::vector<Layer> layers;
  layers.reserve(pending_.size());
  std::int64_t stored_bytes = 0;
  for (Pending& entry : pending_) {
    if (!names.insert(entry.name).second) {
      throw InputError(name_, fmt::format("two layers are called {}", quote_name(entry.name)), "rename one");
    }
    const std::string place = name_ + ": layer " + quote_name(entry.name);
    const auto tensor = [&](TraceTensor which) {
      const Parts& given = parts_of(entry, which);
      const TensorExtent extent = TensorExtent::of(entry.shape, which.operand);
      if (given.mask != nullptr) stored_bytes += extent.mask_bytes();
      if (given.values) stored_bytes += extent.rows * extent.channels * bytes_of(given.values.type);
      return make_layer_tensor(entry.shape, which, given.mask, given.values, *storage_, place);
    };
    layers.push_back({.name = std::move(entry.name),
                      .shape = entry.shape,
                      .steps = entry.steps,
                      .a = tensor(Operand::kA),
                      .w = tensor(Operand::kW),
                      .g = tensor(Operand::kG),
                      .a_forward = {},
                      .operations = entry.operations});
    if (const Parts& forward = parts_of(entry, kAForward); forward.mask != nullptr || forward.values)
      layers.back().a_forward = tensor(kAForward);
  }
  pending_.clear();
  Trace trace(name_, info_, std::move(layers), storage_, stored_bytes);
  storage_ = std::make_shared<TraceStorage>();
  return trace;
}

}  // namespace lacuna
