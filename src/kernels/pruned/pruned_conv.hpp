// Convolutions that skip zero weights: forward, input_grad, and the gradient of the non-zero weights alone.
// For pruned training, where nine of ten weights are zero and which ones changes rarely.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pruned/weight_lists.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

class PrunedConv final : public SparseConv, public SkipsWeights {
 public:
  // ConvError for groups of part of a block and for taps too far apart.
  explicit PrunedConv(const KernelConfig& config);

  // Packed weights are a stamp: the lists are in the kernel.
  std::int64_t packed_floats() const override { return kLanes; }
  void pack(const float* plain, float* packed) override;
  void unpack(const float*, float*) override {}  // gradients are plain
  void use_weights(const float* plain) override;
  void use_pattern(const std::uint8_t* kept) override;
  bool has_weights() const override { return lists_.nonzeros() >= 0; }
  bool has_pattern() const override { return has_pattern_; }
  double zeros() const override;
  void keep_nonzero(float* plain) const override;

  // Takes plain weights, before the first run and whenever they change. Allocates only if there are more
  // non-zeros than ever before. Returns false if the non-zeros are at other places than before, which takes
  // longer.
  bool update(const float* plain);

 private:
  // Buffers of a thread, allocated once.
  struct Scratch {
    struct Inputs {
      std::vector<std::int32_t> slots;
      std::vector<std::int64_t> offsets;
    };
    Inputs inputs, next;  // of these tiles and of those after them
    std::vector<std::int32_t> pixels;
    std::vector<std::int64_t> results, next_results;
    std::vector<float> gradients;  // weight_grad: of each entry of all lists
  };

  void prepare(const ConvTensors& t) override;
  bool takes_plain() const override { return true; }
  std::int64_t workspace_floats() const override { return threads_ * thread_floats(); }
  // The sums of result channels over all units; run.checked is the input.
  void compute(const SparseRun& run) const override;
  // The gradients of the non-zero weights, zero elsewhere, in plain order.
  void weight_grad(const SparseRun& run) const;
  std::int64_t input_floats() const;              // packed inputs of a group of tiles, at most
  std::int64_t thread_floats() const;             // of the workspace
  std::int64_t unit_parts() const;                // most parts of result channels whose sums stay in L2
  bool around_caches(const float* result) const;  // results are too large to be kept by one
  // One group of tiles, and some of the parts of its result channels.
  struct Unit {
    std::int64_t g;
    const TileGroup* tiles;
    std::int64_t part_begin, part_end;
  };
  void pack_inputs(const Scratch::Inputs& at, const float* input, std::int64_t part, float* packed) const;
  void run_unit(const SparseRun& run, const Unit& unit, const Unit* next, Scratch& scratch,
                float* workspace) const;
  void fill(const SparseRun& run, const Unit& unit, const Scratch& scratch) const;
  void add_gradients(const float* src, const float* diff_dst, const Unit& unit, const Unit* next,
                     Scratch& scratch, float* workspace) const;
  // The part of the inputs after `part`, which may be the first of the next tiles.
  LinesAhead inputs_ahead(const float* input, const Unit& unit, const Unit* next, const Scratch& scratch,
                          std::int64_t part, std::int64_t rows) const;
  TileSize tile_size(const TileGroup& tiles) const {
    return {static_cast<int>(tiles.rows), static_cast<int>(tiles.cols), static_cast<int>(geometry_.pitch())};
  }

  const PrunedKernels& loops_;
  const BlockedShape &input_, &result_;
  PrunedGeometry geometry_;
  WeightLists lists_;
  mutable std::vector<Scratch> scratch_;
  std::uint64_t stamp_ = 0;  // of the weights packed last
  bool has_pattern_ = false;
};

}  // namespace lacuna::kernels
