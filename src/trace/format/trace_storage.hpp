// Memory behind an opened trace; turns the mask and values of a tensor into a LayerTensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/io/byte_source.hpp"
#include "trace/trace.hpp"

namespace lacuna {

struct TraceStorage final : Trace::Storage {
  std::vector<std::unique_ptr<ByteSource>> sources;     // files, mapped or decompressed
  std::vector<std::unique_ptr<std::uint8_t[]>> blocks;  // masks and values that were built

  std::uint8_t* allocate(std::int64_t bytes);
  // Returns a row of ones for `channels` channels (bits past them 0). Rows share their bytes: any number of
  // layers without tensors takes almost no memory.
  const std::uint8_t* row_of_ones(std::int64_t channels);

 private:
  struct Ones {
    std::uint8_t* bytes = nullptr;
    std::int64_t size = 0;
  };
  Ones ones_[8];  // by the number of channels in the last byte
};

// A tensor of a layer in a file: an operand, or A as the forward product multiplies it.
struct TraceTensor {
  constexpr TraceTensor(Operand its_operand, bool of_forward = false)  // NOLINT: an operand is one
      : operand(its_operand), forward(of_forward) {}

  Operand operand;
  bool forward;
  constexpr bool operator==(const TraceTensor&) const = default;

  // For arrays of one entry per tensor.
  constexpr std::size_t index() const { return forward ? 3 : static_cast<std::size_t>(operand); }
  // "A", "A_forward", "W" or "G"
  constexpr const char* name() const {
    if (operand == Operand::kA) return forward ? "A_forward" : "A";
    return operand == Operand::kW ? "W" : "G";
  }
  // The tensor in `layer`, which may lack `a_forward`: null then.
  const LayerTensor* of(const Layer& layer) const {
    if (!forward) return &layer.tensor(operand);
    return layer.a_forward ? &*layer.a_forward : nullptr;
  }
};
inline constexpr TraceTensor kAForward{Operand::kA, true};
inline constexpr std::array<TraceTensor, 4> kTraceTensors{Operand::kA, kAForward, Operand::kW, Operand::kG};

// The tensor's [rows, channels] as a file holds it, in a layer of that shape.
struct TensorExtent {
  std::int64_t rows = 0;
  std::int64_t channels = 0;

  static TensorExtent of(const LayerShape& shape, Operand role);
  std::int64_t mask_bytes() const { return rows * ((channels + 7) / 8); }
};

// The tensor's shape in a file, with `last` as its last dimension (channels, or bytes of a mask).
std::vector<std::int64_t> tensor_shape(const LayerShape& shape, Operand role, std::int64_t last);

// Builds the tensor from a mask (may be null) and values (may be empty), both already of the right size:
// checks them, makes the mask where there is none, and counts. Throws InputError; `place` (file and layer)
// starts the message.
LayerTensor make_layer_tensor(const LayerShape& shape, TraceTensor which, const std::uint8_t* mask,
                              const ValueView& values, TraceStorage& storage, const std::string& place);

}  // namespace lacuna
