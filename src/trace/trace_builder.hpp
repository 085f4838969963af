// Traces made in memory, layer by layer: for tests, for synthetic traces, for importers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/format/trace_storage.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// TraceBuilder builder("mine");
// builder.add_layer("conv1", LayerShape::conv2d(...)).mask(Operand::kA, bits).values(Operand::kW, w);
// Trace trace = builder.build();
// kAForward gives A as the forward product multiplies it, if that differs. Tensors that are not given have no
// zeros. Everything is checked like a file's content (InputError).
class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name);

  TraceInfo& info() { return info_; }

  // Starts a layer; mask() and values() then belong to it.
  TraceBuilder& add_layer(std::string name, const LayerShape& shape, std::int64_t steps = 1);
  // The operations that the step ran in this layer; without a call they follow from its place.
  TraceBuilder& operations(const std::optional<PerOperation<bool>>& recorded);
  // Packed as in a file: rows x ceil(channels/8) bytes.
  TraceBuilder& packed_mask(TraceTensor which, std::span<const std::uint8_t> bytes);
  // One entry per element, in the order of the tensor ([rows, channels]).
  TraceBuilder& mask(TraceTensor which, const std::vector<bool>& nonzero);
  TraceBuilder& values(TraceTensor which, std::span<const float> values, DataType type = DataType::kFp32);

  // Without a copy: blocks and files that live as long as the trace, and tensors inside them.
  std::uint8_t* allocate(std::int64_t bytes) { return storage_->allocate(bytes); }
  void keep(std::unique_ptr<ByteSource> source) { storage_->sources.push_back(std::move(source)); }
  TraceBuilder& adopt_mask(TraceTensor which, const std::uint8_t* bytes);
  TraceBuilder& adopt_values(TraceTensor which, const std::uint8_t* bytes, DataType type);

  // The builder is empty afterwards.
  Trace build();

 private:
  struct Parts {
    const std::uint8_t* mask = nullptr;
    ValueView values;
  };
  struct Pending {
    std::string name;
    LayerShape shape;
    std::int64_t steps = 1;
    std::optional<PerOperation<bool>> operations = std::nullopt;
    std::array<Parts, 4> parts;  // of A, W, G and A_forward
  };

  Parts& parts(TraceTensor which) { return parts_of(pending_.back(), which); }
  static Parts& parts_of(Pending& layer, TraceTensor which) { return layer.parts[which.index()]; }
  TensorExtent extent(TraceTensor which) const {
    return TensorExtent::of(pending_.back().shape, which.operand);
  }
  [[noreturn]] void wrong_size(TraceTensor which, std::size_t got, std::int64_t needed) const;

  std::string name_;
  TraceInfo info_;
  std::vector<Pending> pending_;
  std::shared_ptr<TraceStorage> storage_;
};

}  // namespace lacuna
