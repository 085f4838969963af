// The interface of an implementation of a convolution.
//
// Three layers: a plan (conv.hpp) knows the caller's tensors and options and chooses a kernel by measured
// costs; a kernel (here) computes one operation of one shape; its microkernels are the innermost loops, one
// table of them per instruction set.
//
// A new kernel is one file, with a class and a ConvImplementation, and one line in conv_list.hpp. Plans,
// tests and benchmarks take it from the list; `impl_named()` finds it by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/cpu.hpp"
#include "kernels/conv.hpp"
#include "kernels/conv_list.hpp"
#include "kernels/layout/blocked.hpp"

namespace lacuna::kernels {

// The convolution that a kernel is made for.
struct KernelConfig {
  // Throws ConvError for an instruction set that this CPU does not have.
  KernelConfig(const LayerShape& shape, const ConvOptions& options);

  LayerShape shape;
  ConvOptions options;
  Operand checked;  // the operand whose zeros are skipped
  Isa isa;
  BlockedShape src, dst;  // tensors of pixels as kernels other than TensorForm::kAsGiven get them
  std::int64_t l1_bytes;  // of the data cache
  // Activations and gradients are in the order that the kernel prefers (src_floats(), dst_floats()), for
  // measurements: what oneDNN's users would give it.
  bool native = false;

  bool weight_grad() const { return options.op == Operation::kWeightGrad; }
  bool packed() const { return options.weights == WeightLayout::kPacked; }
};

// Memory of the plan, aligned to 64 bytes.
struct KernelMemory {
  float* kept;     // kept_floats(), as the last run left them
  float* scratch;  // scratch_floats() of any content
};

class ConvKernel {
 public:
  virtual ~ConvKernel() = default;

  virtual const char* name() const = 0;  // with the instruction set: "window avx512"
  virtual std::int64_t kept_floats() const { return 0; }
  virtual std::int64_t scratch_floats() const { return 0; }

  // Weights in the kernel's own order, from and to the plain order of the options.
  virtual std::int64_t packed_floats() const = 0;
  virtual void pack(const float* plain, float* packed) = 0;
  virtual void unpack(const float* packed, float* plain) = 0;

  // Computes the operation. Pointers are checked before. Weights are packed by this kernel if the options say
  // so; plain ones are packed again only if weights_version says that they may have changed. Allocates
  // nothing, and gives the same bits for the same input and number of threads.
  virtual void run(const ConvTensors& tensors, const KernelMemory& memory) = 0;

  // Floats of tensors in native order; 0: only the caller's.
  virtual std::int64_t src_floats() const { return 0; }
  virtual std::int64_t dst_floats() const { return 0; }

 protected:
  // True if plain weights are those of the run before.
  bool same_weights(const ConvTensors& t) {
    const bool same = t.weights_version != 0 && t.weights_version == weights_version_;
    weights_version_ = t.weights_version;
    return same;
  }
  void forget_weights() { weights_version_ = 0; }

 private:
  std::uint64_t weights_version_ = 0;
};

// A kernel that skips zero weights keeps the non-zeros itself.
class SkipsWeights {
 public:
  virtual ~SkipsWeights() = default;
  virtual void use_weights(const float* plain) = 0;        // ConvPlan::use_weights()
  virtual void use_pattern(const std::uint8_t* kept) = 0;  // ConvPlan::use_pattern()
  virtual bool has_weights() const = 0;
  virtual bool has_pattern() const = 0;
  virtual double zeros() const = 0;  // share of the weights
  // Leaves the values at the places of the non-zero weights and clears the others.
  virtual void keep_nonzero(float* plain) const = 0;
};

// Tensors of pixels that a kernel takes; the plan copies those of other layouts.
enum class TensorForm {
  kAsGiven,               // in the layouts of the options
  kBlocked,               // whole blocks of 16 channels for each group
  kBlockedOrChannelsLast  // also channels-last tensors of whole blocks, as they are
};

// kResults: input_grad only where the input is not zero (Operand::kA).
enum class Skips { kNothing, kChecked, kWeights, kResults };

// A line of the list.
struct ConvImplementation {
  const char* name;  // Impl::name
  const char* description;
  Skips skips = Skips::kNothing;
  TensorForm form = TensorForm::kAsGiven;
  // False for shapes and options that make() would refuse. Null: make() has to be tried.
  bool (*supports)(const KernelConfig&) = nullptr;
  // Throws ConvError with the reason if the kernel cannot do this convolution.
  std::unique_ptr<ConvKernel> (*make)(const KernelConfig&);

  // Impl::kAuto, and kSparse if it skips, may choose it under these options; null: never.
  bool (*may_choose)(const ConvOptions&) = nullptr;
  int warm_up_runs = 1;   // before it is timed
  bool reorders = false;  // spends time on copies, which suffer less from a shared core than arithmetic

  Impl impl() const { return {name}; }
};

// All implementations. Plans prefer the first that supports a convolution, among those that skip zeros, and
// the fastest by measurement among the others.
const std::vector<const ConvImplementation*>& conv_implementations();
// Null for Impl::kAuto, Impl::kSparse and unknown names.
const ConvImplementation* find_implementation(Impl impl);
// Null if the implementation cannot do this convolution.
std::unique_ptr<ConvKernel> try_make(const ConvImplementation& implementation, const KernelConfig& config);

template <typename Kernel>
std::unique_ptr<ConvKernel> make_kernel(const KernelConfig& config) {
  return std::make_unique<Kernel>(config);
}
inline bool always(const ConvOptions&) { return true; }

std::int64_t l1_data_bytes();

}  // namespace lacuna::kernels
