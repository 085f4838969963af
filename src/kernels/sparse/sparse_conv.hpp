// Shared by the kernels that skip zeros and the dense ones on the same tensors: from the tensors of a plan to
// the operands of the loops, and the partition of work into parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv_kernel.hpp"
#include "kernels/sparse/microkernels.hpp"
#include "kernels/sparse/weights.hpp"

namespace lacuna::kernels {

// The operands of one run, in blocked tensors.
struct SparseRun {
  const float* checked;  // forward: src; input_grad: diff_dst; weight_grad: the operand that the options name
  const float* other;    // packed weights; weight_grad: the other activation tensor
  float* out;            // dst, diff_src; weight_grad: packed diff_weights
  const float* plain;    // takes_plain(), instead of `other`: plain weights
  float* plain_out;      // takes_plain(), weight_grad instead of `out`: plain diff_weights
  const float* needed;   // input_grad that checks A: A, as the result lies
  const float* bias;     // [groups][blocks per group * 16], never null for forward and input_grad
  bool relu;
  float* workspace;
};

// Tensors of pixels of the operation: the one whose zeros are skipped and the other one.
struct Sides {
  explicit Sides(const KernelConfig& config);
  BlockedShape checked;
  BlockedShape other;  // forward, input_grad: of the result; weight_grad: of the dense operand
  bool checks_src;
};

// A kernel on blocked tensors.
class SparseConv : public ConvKernel {
 public:
  const char* name() const final { return name_.c_str(); }  // kind and instruction set: "window avx512"
  // Packed weights, or their gradients before they are unpacked.
  std::int64_t kept_floats() const final { return packs_weights_ || takes_plain() ? 0 : packed_floats(); }
  std::int64_t scratch_floats() const final { return bias_floats() + workspace_floats(); }
  std::int64_t packed_floats() const override { return weights_.floats(); }
  void pack(const float* plain, float* packed) override { weights_.pack(plain, packed, threads_); }
  void unpack(const float* packed, float* plain) override { weights_.unpack(packed, plain, threads_); }
  void run(const ConvTensors& tensors, const KernelMemory& memory) final;

 protected:
  SparseConv(const KernelConfig& config, const char* kind);

  // For the constructors: the order of weights, or of their gradients, that the loops want.
  void order_weights(const WeightOrder::Layout& layout, std::vector<Part> parts) {
    weights_ = WeightOrder(shape_, sides_.checks_src, ohwi_, layout, std::move(parts));
  }
  // The loops over taps want a kernel that is turned by 180 degrees.
  static constexpr WeightOrder::Layout kTurned = {WeightOrder::Taps::kInside, true, true};

  virtual std::int64_t workspace_floats() const { return 0; }
  virtual void compute(const SparseRun& run) const = 0;
  virtual void prepare(const ConvTensors&) {}  // before each run
  // Packs plain weights, or unpacks their gradients, piece by piece while they are in the cache. Weights of
  // some megabytes would otherwise be written to memory and read again.
  virtual bool takes_plain() const { return false; }

  LayerShape shape_;
  Operation op_;
  Operand checked_;
  int threads_;
  bool ohwi_;
  const MicroKernels& kernels_;
  Sides sides_;
  WeightOrder weights_;
  bool packs_weights_;

 private:
  std::int64_t bias_floats() const;

  bool bias_, relu_;
  std::string name_;
};

template <typename Kernel>
constexpr ConvImplementation sparse_implementation(const char* name, const char* description,
                                                   bool (*supports)(const KernelConfig&)) {
  return {.name = name,
          .description = description,
          .skips = Skips::kChecked,
          .form = TensorForm::kBlockedOrChannelsLast,
          .supports = supports,
          .make = make_kernel<Kernel>,
          .may_choose = always};
}

// Channel blocks of weight_grad in chunks of at most 16 blocks, whose tiles (64 KB transposed, 400 KB as
// lists) stay in L2; fewer blocks each, but not below 4, where `others` units of work per chunk do not keep
// all threads busy. `most`: fewer than 16 where sums are to stay in L2, too.
std::vector<Part> thread_chunks(std::int64_t blocks, std::int64_t others, int threads,
                                std::int64_t most = 16);

// Channels are worked on in parts whose weights stay in L1. With few zeros that matters most; with many,
// longer loops (fewer mispredicted ends) are worth some misses: all 64 channels of a mask.
class ChannelParts {
 public:
  ChannelParts() = default;
  ChannelParts(std::int64_t blocks, std::int64_t in_l1);
  // Depends on a sample of the tensor: the same data give the same parts and so the same order of sums.
  const std::vector<Part>& choose(const float* checked, std::int64_t floats) const;
  std::int64_t most() const;  // parts

 private:
  std::vector<Part> in_l1_, longest_;
};

// Prefetches the next row of pixels of a channels-last tensor: a part of the channels is a few lines of each
// pixel, further apart than the hardware prefetches.
inline void fetch_row(const PixelRow& row) {
  for (std::int64_t pixel = 0; pixel < row.width; ++pixel)
    for (int block = 0; block < row.blocks; ++block)
      __builtin_prefetch(row.src + pixel * row.src_step + block * row.src_block, 0, 2);
}

// Output positions o of one axis with 0 <= o * stride + offset < size.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};
Range valid_outputs(std::int64_t outputs, std::int64_t size, std::int64_t stride, std::int64_t offset);

// Units of work of some images and rows of the result, of about `pixels`: smaller ones, first of fewer images
// and then of fewer rows, where `others` for each of them do not keep all threads busy.
class RowUnits {
 public:
  RowUnits() = default;
  RowUnits(const BlockedShape& result, std::int64_t pixels, std::int64_t others, int threads);
  struct Unit {
    Range images, rows;
  };
  std::int64_t count() const { return units(n_, images_) * units(h_, rows_); }
  Unit at(std::int64_t index) const;
  std::int64_t images() const { return images_; }  // at most
  std::int64_t rows() const { return rows_; }

 private:
  static std::int64_t units(std::int64_t size, std::int64_t each) { return (size + each - 1) / each; }
  std::int64_t n_ = 1, h_ = 1, images_ = 1, rows_ = 1;
};

// 3x3, stride 1, padding 1, not dilated: the result has the size of the input.
bool is_3x3_same(const LayerShape& shape);

// weight_grad with fewer units of work than threads: the sum itself is cut into slices, each with sums of its
// own that are added at the end. How many slices a plan has: 1 where there are units enough (or one thread),
// never so many that adding them takes longer than it saves.
std::int64_t sum_slices(std::int64_t units, std::int64_t tiles, std::int64_t sum_floats, int threads);
// out += slices 1 .. slices - 1, in order.
void add_slices(float* out, const float* sums, std::int64_t sum_floats, std::int64_t slices, int threads);

}  // namespace lacuna::kernels
