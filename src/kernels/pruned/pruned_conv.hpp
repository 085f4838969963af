// Convolutions that skip zero weights: forward, input_grad, and the gradient of the non-zero weights alone.
// For pruned training, where nine of ten weights are zero and which ones changes rarely.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/pruned/weight_lists.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {

class PrunedConv {
 public:
  // Null where the shape has groups of part of a block, or taps too far apart.
  static std::unique_ptr<PrunedConv> make(const SparseConfig& config);
  PrunedConv(const PrunedConv&) = delete;
  PrunedConv& operator=(const PrunedConv&) = delete;

  const char* name() const { return name_.c_str(); }
  std::int64_t workspace_floats() const;

  // Takes plain weights, before the first run and whenever they change. Allocates only if there are more
  // non-zeros than ever before. Returns false if the non-zeros are at other places than before, which takes
  // longer.
  bool update(const float* oihw);
  // The values at the places of the last update(), whichever of them are zero.
  void replace_values(const float* oihw) { lists_.replace_values(oihw); }
  bool has_weights() const { return lists_.nonzeros() >= 0; }
  double zeros() const;  // share of the weights

  // forward, input_grad: `run.checked` is the input; `run.other` is not used.
  void run(const SparseRun& run) const;
  // The gradients of the non-zero weights, zero elsewhere, in plain order.
  void weight_grad(const float* src, const float* diff_dst, float* oihw, float* workspace);
  // `oihw` keeps the values at the places of the non-zero weights, the others become zero.
  void keep(float* oihw) const;

 private:
  // What a thread works with; its memory is allocated once.
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

  explicit PrunedConv(const SparseConfig& config, PrunedGeometry geometry);
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

  LayerShape shape_;
  Operation op_;
  int threads_;
  const PrunedKernels& kernels_;
  std::string name_;
  BlockedShape input_, result_;
  PrunedGeometry geometry_;
  WeightLists lists_;
  mutable std::vector<Scratch> scratch_;
};

}  // namespace lacuna::kernels
