// A training trace: for each layer of a model at one moment of its training, the operands of the three
// training products. docs/trace-format.md describes the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/layer_shape.hpp"
#include "tensor/mask_view.hpp"
#include "tensor/operation.hpp"

namespace lacuna {

// One tensor of a layer. The mask is always there; values only if the trace has them.
struct LayerTensor {
  MaskView mask;
  ValueView values;
  std::int64_t nonzeros = 0;

  std::int64_t elements() const { return mask.rows * mask.channels; }
  std::int64_t zeros() const { return elements() - nonzeros; }
  double zero_share() const { return static_cast<double>(zeros()) / static_cast<double>(elements()); }
};

struct Layer {
  std::string name;
  LayerShape shape;
  std::int64_t steps = 1;  // rows (linear), images (conv2d) or products (matmul) of a sample
  // A and G of a matmul are [rows, products x channels], whatever their order in a file.
  LayerTensor a, w, g;
  // A as the forward product multiplies it, where that differs from `a`: SWAT multiplies all activations
  // there and the top-k ones in weight_grad.
  std::optional<LayerTensor> a_forward = std::nullopt;
  // Operations that the recorded step ran, where the recorder noted them: a frozen layer has no weight_grad,
  // a second layer on the input no input_grad, inference forward alone. Trace::runs() has the default.
  std::optional<PerOperation<bool>> operations = std::nullopt;

  std::int64_t samples() const { return samples_of(shape, steps); }
  static std::int64_t samples_of(const LayerShape& shape, std::int64_t steps) {
    return (shape.kind == LayerKind::kMatmul ? shape.groups : shape.n) / steps;
  }

  const LayerTensor& tensor(Operand role) const {
    return role == Operand::kA ? a : role == Operand::kW ? w : g;
  }
  // Returns the layer with the tensors that `op` reads and writes. `a_forward` takes the place of `a` in
  // forward, and in input_grad, whose result has the zeros of the activation function before the layer, not
  // those of a top-k.
  Layer as_multiplied(Operation op) const;
};

// A part of the network that the trace does not hold: a layer of another kind, a product outside of layers.
struct LeftOut {
  std::string name;
  std::string type;                  // "LSTM", "matmul", ...
  std::optional<std::int64_t> macs;  // of the forward pass of a whole batch, if known

  bool operator==(const LeftOut&) const = default;
};

// The header's metadata; absent keys stay empty.
struct TraceInfo {
  std::string model;
  std::string dataset;
  std::optional<double> progress;  // 0..1 of the training
  std::optional<double> epoch;
  std::optional<std::int64_t> batch;  // samples per training step
  std::optional<std::int64_t> samples;
  std::optional<double> accuracy;
  std::optional<double> loss;
  std::vector<LeftOut> left_out;
  // The share of the network's MACs that the trace holds, 0..1; the Trace computes it. Absent if nothing is
  // known to be missing.
  std::optional<double> recorded_share;
};

// An opened trace. Its layers' views point into storage that the trace owns (the mapped file, the
// decompressed bytes, or tensors that were built), so they live as long as any copy of the trace.
class Trace {
 public:
  // Keeps the bytes behind the views alive. Readers derive from it.
  struct Storage {
    virtual ~Storage() = default;
  };

  // `stored_bytes`: see below.
  Trace(std::string path, TraceInfo info, std::vector<Layer> layers, std::shared_ptr<const Storage> storage,
        std::int64_t stored_bytes);

  // Opens a `.safetensors`, a `.safetensors.zst` or a folder of `.npy` files. Throws InputError.
  static Trace open(const std::filesystem::path& path);
  // The same from memory; `name` stands for the path in messages.
  static Trace parse(std::string name, std::vector<std::uint8_t> bytes);

  const std::string& path() const { return path_; }
  const TraceInfo& info() const { return info_; }
  const std::vector<Layer>& layers() const { return layers_; }

  // Returns true if the step runs `op` in a layer: as recorded, else as in a training of all weights.
  bool runs(std::size_t layer, Operation op) const {
    const auto& recorded = layers_[layer].operations;
    return recorded ? (*recorded)[op] : has_operation(layer, op);
  }

  // Bytes of the trace where it is stored: the compressed size of a compressed file, of a folder all its
  // arrays, of a trace made in memory its masks and values.
  std::int64_t stored_bytes() const { return stored_bytes_; }

  // The batch that totals are scaled to: `batch` of the metadata or, without it, the largest number of
  // samples of any layer.
  std::int64_t batch() const { return batch_; }
  // Returns the batch divided by the recorded samples of the layer.
  double batch_scale(const Layer& layer) const;

 private:
  std::string path_;
  TraceInfo info_;
  std::vector<Layer> layers_;
  std::shared_ptr<const Storage> storage_;
  std::int64_t stored_bytes_;
  std::int64_t batch_ = 1;
};

}  // namespace lacuna
