// Convolutions for training that skip the zeros of one operand [SparseTrain], and the dense ones they are
// compared with, behind one interface: plan once, run many times.
//
//   ConvPlan plan(LayerShape::conv2d(16, 256, 256, {56, 56}, {3, 3}, {1, 1}, {1, 1}), options);
//   plan.run({.src = x, .weights = w, .dst = y});
//
// Effect of skipping on the result (in full in docs/models/sparsetrain.md):
//  - A checked value that compares equal to zero (+0.0 and -0.0) contributes nothing, so 0 x Inf and
//    0 x NaN do not give NaN. `strict` looks for Inf and NaN in the other operand first and computes densely
//    if it has any.
//  - NaN and denormals in the checked operand are non-zero. The control register is left to the caller: with
//    denormals-are-zero set, denormals are skipped like zeros.
//  - A plan gives the same bits every time for the same input. For forward and input_grad they do not depend
//    on the number of threads; weight_grad may split its sums differently for another number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "tensor/layer_shape.hpp"
#include "tensor/operation.hpp"

namespace lacuna::kernels {

// kBlocked is nChw16c: [n][channels / 16][h][w][16], channels past the last are zero (and are written as
// zero). Groups of part of a block (depthwise convolutions) share blocks: kSparse reorders them, kAuto hands
// them to oneDNN. The zero-skipping kernels work on kBlocked, and on kNhwc where the channels of a group are
// a multiple of 16, as they are; other tensors are reordered in run().
enum class Layout { kNchw, kNhwc, kBlocked };

// kOihw and kOhwi are PyTorch's, contiguous and channels-last. kPacked is the plan's own order
// (weights_size(), pack_weights(), unpack_weights()): weights that stay packed need no reorder in run().
enum class WeightLayout { kOihw, kPacked, kOhwi };

// Names an implementation, or one of two selections from the list of them (conv_list.hpp). Only those that
// code asks for have a constant here.
struct Impl {
  const char* name;

  static const Impl kAuto;    // skips zeros or takes the fastest dense one, whichever measured costs favour
  static const Impl kSparse;  // the first of the list that skips the zeros of the operand
  static const Impl kSparseTrain, kReference, kBfloat16, kDense1x1, kWinograd4x4;
  static const Impl kDenseDirect, kDenseAuto, kDenseWinograd, kDenseGemm;  // oneDNN's

  constexpr bool operator==(const Impl& other) const { return std::string_view(name) == other.name; }
};
inline constexpr Impl Impl::kAuto{"auto"};
inline constexpr Impl Impl::kSparse{"sparse"};
inline constexpr Impl Impl::kSparseTrain{"sparsetrain"};
inline constexpr Impl Impl::kReference{"reference"};
inline constexpr Impl Impl::kBfloat16{"bfloat16"};
inline constexpr Impl Impl::kDense1x1{"dense1x1"};
inline constexpr Impl Impl::kWinograd4x4{"winograd4x4"};
inline constexpr Impl Impl::kDenseDirect{"direct"};
inline constexpr Impl Impl::kDenseAuto{"onednn_auto"};
inline constexpr Impl Impl::kDenseWinograd{"winograd"};
inline constexpr Impl Impl::kDenseGemm{"gemm"};

inline const char* impl_name(Impl impl) { return impl.name; }
// Returns true for those whose rounding errors are larger (ConvOptions::allow_winograd).
inline bool is_winograd(Impl impl) { return impl == Impl::kWinograd4x4 || impl == Impl::kDenseWinograd; }

// One that ConvOptions::impl may name, for lists in help texts.
struct ImplDescription {
  Impl impl;
  std::string_view text;
};
std::vector<ImplDescription> describe_impls();
// The implementation or selection of this name; nothing: there is none.
std::optional<Impl> impl_named(std::string_view name);

// An error with a code that programs can act on.
class ConvError : public InputError {
 public:
  enum class Code { kShape, kOption, kNullPointer, kMisaligned, kWorkspaceTooSmall, kOverlap };
  ConvError(Code code, std::string_view cause, std::string_view remedy)
      : InputError("convolution", cause, remedy), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

struct ConvOptions {
  Operation op = Operation::kForward;
  // The operand whose zeros are skipped: A or W in forward, G or W in input_grad (the first by default); any
  // in weight_grad (A by default), where W means that only gradients of non-zero weights are computed,
  // whichever implementation runs, and the others are zero (pruned training). A in input_grad means that
  // results are needed only where A is not zero, because A comes out of a ReLU: elsewhere they are zero, or
  // the gradient if another kernel than one that skips them runs (ConvRun::skipped).
  std::optional<Operand> checked;
  Impl impl = Impl::kAuto;
  Layout layout = Layout::kNchw;
  // Layout of src and diff_src, if different. Images of three channels are better left plain: blocked ones
  // have five times the bytes, and oneDNN's first layers read plain ones.
  std::optional<Layout> src_layout;
  WeightLayout weights = WeightLayout::kOihw;
  int threads = 1;
  bool bias = false;            // forward only: run() is given oc floats
  bool relu = false;            // forward only: dst = max(dst, 0)
  bool strict = false;          // see above
  bool allow_winograd = false;  // kAuto: the choice may be Winograd, whose rounding errors are larger
  // kAuto and kSparse may skip zero weights instead of those of the checked operand: kAuto where that is
  // expected to be faster, kSparse where weights have more of them. weight_grad then computes the gradients
  // of the non-zero weights alone, as with Operand::kW. Not where a kernel would read kNhwc as it is.
  bool or_weights = false;
  // input_grad: kAuto and kSparse may leave out the results that are not needed, as with Operand::kA, instead
  // of skipping zeros: kAuto where that is expected to be faster, kSparse where A has more zeros.
  bool or_needed = false;
  bool allow_bfloat16 = false;  // kAuto: the choice may be bfloat16, where the CPU has it
  // The plan allocates no workspace: each run is given one (ConvTensors::workspace), which keeps nothing
  // between runs. Plans that run one after the other can share it.
  bool borrow_workspace = false;
  std::string isa;  // "": the best of this CPU; "avx512", "avx2" or "portable"

  Operand checked_operand() const {
    return checked.value_or(op == Operation::kInputGrad ? Operand::kG : Operand::kA);
  }
  // input_grad: results are needed where A is not zero alone.
  bool takes_needed() const { return op == Operation::kInputGrad && (checked == Operand::kA || or_needed); }
  Layout layout_of_src() const { return src_layout.value_or(layout); }
  Layout layout_of_dst() const { return layout; }
};

// The tensors of the operation; the others stay null.
struct ConvTensors {
  const float* src = nullptr;       // forward, weight_grad, input_grad that takes_needed()
  const float* weights = nullptr;   // forward, input_grad; weight_grad that checks weights: plain ones, or
                                    // null if use_weights() was called
  const float* bias = nullptr;      // forward, with options.bias
  const float* diff_dst = nullptr;  // input_grad, weight_grad
  float* dst = nullptr;             // forward
  float* diff_src = nullptr;        // input_grad
  float* diff_weights = nullptr;    // weight_grad
  // Version of the values of plain weights, chosen by the caller; 0: unknown. A run with the version of the
  // run before does not pack them again. Needs a workspace that is not shared between plans.
  std::uint64_t weights_version = 0;
  // With ConvOptions::borrow_workspace: workspace_bytes() of memory aligned to 64 bytes.
  void* workspace = nullptr;
};

// The outcome of a run.
struct ConvRun {
  Impl used = Impl::kSparse;
  // Share of zeros that the choice was based on (of `skipped`, or of the checked operand); -1: nothing was
  // counted.
  double zeros = -1;
  std::optional<Operand> skipped{};  // the operand whose zeros were skipped (options.checked); nothing: dense
};

class ConvPlan {
 public:
  // Throws ConvError (or InputError for a shape that is not a convolution). Without `workspace` the plan
  // allocates its own; with it, at least workspace_bytes() of 64-byte aligned memory that outlives the plan.
  ConvPlan(const LayerShape& shape, const ConvOptions& options, void* workspace = nullptr,
           std::size_t workspace_size = 0);
  ~ConvPlan();
  ConvPlan(ConvPlan&&) noexcept;
  ConvPlan& operator=(ConvPlan&&) noexcept;

  // Checks the pointers before anything is written. Allocates nothing.
  // One run at a time per plan: runs share its workspace.
  ConvRun run(const ConvTensors& tensors);
  // The same with a share of zeros known from elsewhere (the last step, a mask): kAuto need not count.
  ConvRun run(const ConvTensors& tensors, double zeros);

  // weight_grad that checks weights: takes the non-zeros of these, so that run() need not look for them.
  // Cheap where they are at the same places as before.
  void use_weights(const float* oihw);
  // A plan that may skip zero weights: those that may be non-zero, one byte each in the order oihw. Runs
  // take the values of these alone and no longer look for zeros, until this is called again. A weight that is
  // zero now and grows later has its place already. Null: runs look for zeros again.
  void use_pattern(const std::uint8_t* kept);

  // Share of zeros of the checked operand, from a sample that takes little time compared with the run.
  double sampled_zeros(const ConvTensors& tensors) const;

  const LayerShape& shape() const;
  const ConvOptions& options() const;
  // kAuto: how much faster than dense the cost model expects skipping to be at this share of zeros; 1
  // otherwise.
  double expected_speedup(double zeros) const;
  const char* kernel() const;  // "window avx512", "direct jit:avx512_core", ...

  // Floats of the tensors in the layouts of this plan.
  std::int64_t src_size() const;
  std::int64_t dst_size() const;
  std::int64_t weights_size() const;

  // With checked weights the plan itself keeps the non-zeros: weights that were packed by another call than
  // the last are refused. Where the zeros are at the same places as before, only values are replaced.
  void pack_weights(const float* oihw, float* packed);
  void unpack_weights(const float* packed, float* oihw);

  std::size_t workspace_bytes() const;
  static std::size_t workspace_bytes(const LayerShape& shape, const ConvOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lacuna::kernels
