// Linear layers as products of lists: every run lists the non-zeros of the checked operand.
#include <algorithm>

#include "kernels/conv_kernel.hpp"
#include "kernels/ffn/list_products.hpp"

namespace lacuna::kernels {
namespace {

// Blocked tensors of one pixel are matrices as well where no channel is added.
bool is_matrix(Layout layout, std::int64_t channels) {
  return layout != Layout::kBlocked || channels % kLanes == 0;
}

bool supports(const KernelConfig& config) {
  const LayerShape& s = config.shape;
  return s.kind == LayerKind::kLinear && config.checked != Operand::kW && !config.options.or_weights &&
         is_matrix(config.options.layout_of_src(), s.c) && is_matrix(config.options.layout_of_dst(), s.k);
}

// The lists of all kernels that this thread runs, one after the other: those of a large layer have as many
// bytes as its activations.
NonzeroLists& lists_of_this_thread() {
  thread_local NonzeroLists lists;
  return lists;
}

class LinearConv final : public ConvKernel {
 public:
  explicit LinearConv(const KernelConfig& config)
      : shape_(config.shape),
        options_(config.options),
        by_gradients_(config.checked == Operand::kG),
        isa_(config.isa),
        name_(std::string("lists ") + tile_loops(config.isa).isa) {
    if (!supports(config))
      throw ConvError(ConvError::Code::kShape, "lists multiplies linear layers alone", "use sparse or auto");
  }

  const char* name() const override { return name_.c_str(); }
  std::int64_t kept_floats() const override { return packs() ? 0 : packed_floats(); }
  std::int64_t scratch_floats() const override {
    return grad() ? PackedPanels::floats(shape_.n, by_gradients_ ? shape_.c : shape_.k) : 0;
  }

  // Gradients of the weights stay in plain order.
  std::int64_t packed_floats() const override {
    const auto [rows, columns] = summed();
    return grad() ? shape_.w_elements() : PackedPanels::floats(rows, columns);
  }
  void pack(const float* plain, float* packed) override {
    if (grad()) {
      std::copy_n(plain, shape_.w_elements(), packed);
    } else {
      panels(packed).pack(plain, forward(), options_.threads, isa_);
    }
  }
  void unpack(const float* packed, float* plain) override { std::copy_n(packed, shape_.w_elements(), plain); }

  void run(const ConvTensors& t, const KernelMemory& memory) override {
    const TileLoops& loops = tile_loops(isa_);
    const int threads = options_.threads;
    const float* checked = by_gradients_ ? t.diff_dst : t.src;
    NonzeroLists& lists = lists_of_this_thread();
    lists.build(checked, shape_.n, by_gradients_ ? shape_.k : shape_.c, {.by_columns = grad()}, threads,
                loops);
    if (grad()) {
      PackedPanels dense(memory.scratch, shape_.n, by_gradients_ ? shape_.c : shape_.k);
      dense.pack(by_gradients_ ? t.src : t.diff_dst, false, threads, isa_);
      const SumResult result{.data = t.diff_weights, .transposed = !by_gradients_};
      return gather_sum({.lists = lists, .transposed = true}, dense, result, threads, isa_);
    }
    const bool packed = packs();
    if (!packed && !same_weights(t)) panels(memory.kept).pack(t.weights, forward(), threads, isa_);
    // The plan owns packed weights; nothing writes to them here.
    const PackedPanels weights = panels(packed ? const_cast<float*>(t.weights) : memory.kept);
    const SumResult result{.data = forward() ? t.dst : t.diff_src,
                           .bias = options_.bias ? t.bias : nullptr,
                           .relu = options_.relu};
    gather_sum({.lists = lists}, weights, result, threads, isa_);
  }

 private:
  bool forward() const { return options_.op == Operation::kForward; }
  bool grad() const { return options_.op == Operation::kWeightGrad; }
  bool packs() const { return grad() || options_.weights == WeightLayout::kPacked; }
  // Rows and columns of the weights as the product sums over them.
  std::pair<std::int64_t, std::int64_t> summed() const {
    return forward() ? std::pair(shape_.c, shape_.k) : std::pair(shape_.k, shape_.c);
  }
  PackedPanels panels(float* memory) const { return {memory, summed().first, summed().second}; }

  LayerShape shape_;
  ConvOptions options_;
  bool by_gradients_;
  Isa isa_;
  std::string name_;
};

}  // namespace

const ConvImplementation kLinearConv{
    .name = "lists",
    .description = "linear layers, from lists of the non-zeros of activations or gradients",
    .skips = Skips::kChecked,
    .supports = supports,
    .make = make_kernel<LinearConv>,
    .may_choose = always};

}  // namespace lacuna::kernels
