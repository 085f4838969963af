// Traces made in memory, layer by layer: for tests, for synthetic traces, for importers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/format/trace_storage.hpp"
#include "trace/trace.hpp"

namespace lacuna {

// TraceBuilder builder("mine");
// builder.add_layer("conv1", LayerShape::conv2d(...)).mask(Operand::kA, bits).values(Operand::kW, w);
// Trace trace = builder.build();
// Tensors that are not given have no zeros. Everything is checked like a file's content (InputError).
class TraceBuilder {
 public:
  explicit TraceBuilder(std::string name);

  TraceInfo& info() { return info_; }

  // Starts a layer; mask() and values() then belong to it.
  TraceBuilder& add_layer(std::string name, const LayerShape& shape, std::int64_t steps = 1);
  // Packed as in a file: rows x ceil(channels/8) bytes.
  TraceBuilder& packed_mask(Operand role, std::span<const std::uint8_t> bytes);
  // One entry per element, in the order of the tensor ([rows, channels]).
  TraceBuilder& mask(Operand role, const std::vector<bool>& nonzero);
  TraceBuilder& values(Operand role, std::span<const float> values, DataType type = DataType::kFp32);

  // Without a copy: blocks and files that live as long as the trace, and tensors inside them.
  std::uint8_t* allocate(std::int64_t bytes) { return storage_->allocate(bytes); }
  void keep(std::unique_ptr<ByteSource> source) { storage_->sources.push_back(std::move(source)); }
  TraceBuilder& adopt_mask(Operand role, const std::uint8_t* bytes);
  TraceBuilder& adopt_values(Operand role, const std::uint8_t* bytes, DataType type);

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
    Parts parts[3];
  };

  Parts& parts(Operand role) { return pending_.back().parts[static_cast<int>(role)]; }
  TensorExtent extent(Operand role) const { return TensorExtent::of(pending_.back().shape, role); }
  [[noreturn]] void wrong_size(Operand role, std::size_t got, std::int64_t needed) const;

  std::string name_;
  TraceInfo info_;
  std::vector<Pending> pending_;
  std::shared_ptr<TraceStorage> storage_;
};

}  // namespace lacuna
