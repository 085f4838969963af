#include "kernels/onednn/onednn_conv.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/clock.hpp"
#include "kernels/layout/scratchpad.hpp"
#include "kernels/onednn/onednn.hpp"
#include "kernels/onednn/stack_offset.hpp"

namespace lacuna::kernels {
namespace {

using dnnl::memory;

std::int64_t floats_of(const memory::desc& desc) {
  return static_cast<std::int64_t>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
}

// One tensor: as the caller has it and as the primitive wants it, with a reorder where they differ.
class Port {
 public:
  Port() = default;
  Port(const memory::desc& user, const memory::desc& inner, bool output) : same_(user == inner) {
    user_ = memory(user, cpu_engine(), DNNL_MEMORY_NONE);
    inner_ = same_ ? user_ : memory(inner, cpu_engine(), DNNL_MEMORY_NONE);
    if (!same_) reorder_ = output ? dnnl::reorder(inner_, user_) : dnnl::reorder(user_, inner_);
    if (!same_) copy_floats_ = round_up(floats_of(inner), kLanes);
  }
  // Returns the size of the copy that a reorder writes or reads.
  std::int64_t copy_floats() const { return copy_floats_; }
  // `data` is only written to if this is an output. Returns the memory behind the copy.
  float* attach(const float* data, float* copy) {
    user_.set_data_handle(const_cast<float*>(data));
    if (!same_) inner_.set_data_handle(copy);
    return copy + copy_floats_;
  }
  void reorder_in(dnnl::stream& stream) {
    if (!same_) reorder_.execute(stream, user_, inner_);
  }
  void reorder_out(dnnl::stream& stream) {
    if (!same_) reorder_.execute(stream, inner_, user_);
  }
  dnnl_memory_t inner() const { return inner_.get(); }

 private:
  bool same_ = true;
  std::int64_t copy_floats_ = 0;
  memory user_;
  memory inner_;
  dnnl::reorder reorder_;
};

// oneDNN has no name for its convolutions by matrix products: goes through its implementations until one
// comes.
template <typename PrimitiveDesc>
void find_gemm(PrimitiveDesc& pd, const LayerShape& shape) {
  while (std::string_view(pd.impl_info_str()).find("gemm") == std::string_view::npos)
    if (!pd.next_impl())
      throw ConvError(ConvError::Code::kShape,
                      std::string("oneDNN has no matrix product for ") + shape.describe(), "use direct");
}

// Rows of a linear layer; blocked ones are padded to whole vectors.
memory::desc rows(std::int64_t n, std::int64_t c, Layout layout) {
  const std::int64_t stride = layout == Layout::kBlocked ? round_up(c, kLanes) : c;
  return {{n, c}, memory::data_type::f32, memory::dims{stride, 1}};
}

memory::desc tensor(const memory::dims& dims, Layout layout) {
  using tag = memory::format_tag;
  const tag order = layout == Layout::kNchw ? tag::nchw : layout == Layout::kNhwc ? tag::nhwc : tag::nChw16c;
  return {dims, memory::data_type::f32, order};
}

class OneDnnConv final : public ConvKernel {
 public:
  OneDnnConv(OneDnnAlgorithm algorithm, const KernelConfig& config, bool sizes_only = false);

  const char* name() const override { return name_.c_str(); }
  std::int64_t src_floats() const override { return floats_of(inner_src_); }
  std::int64_t dst_floats() const override { return floats_of(inner_dst_); }
  std::int64_t kept_floats() const override { return keeps_weights() ? weights_.copy_floats() : 0; }
  std::int64_t scratch_floats() const override {
    return src_.copy_floats() + dst_.copy_floats() + (keeps_weights() ? 0 : weights_.copy_floats());
  }
  std::int64_t packed_floats() const override { return floats_of(inner_weights_); }
  void pack(const float* plain, float* packed) override {
    reorder(plain_weights_, const_cast<float*>(plain), inner_weights_, packed);
  }
  void unpack(const float* packed, float* plain) override {
    reorder(inner_weights_, const_cast<float*>(packed), plain_weights_, plain);
  }
  void run(const ConvTensors& t, const KernelMemory& memory) override;
  std::size_t working_bytes() const { return working_bytes_; }

 private:
  // weight_grad computes them, the others read them and reorder them once per version.
  bool keeps_weights() const { return options_.op != Operation::kWeightGrad; }
  void make_linear(const LayerShape& s);
  void make_convolution(const LayerShape& s, OneDnnAlgorithm algorithm);
  // Uses a primitive and the layouts that it has chosen.
  template <typename Primitive>
  void take(const typename Primitive::primitive_desc& pd, const memory::desc& src, const memory::desc& dst,
            const memory::desc& weights);
  // Makes the primitive of the operation from those of a family. `describe(a type_identity of the primitive,
  // tensors...)` is its description, `prepare` changes what oneDNN chose for it. `order`: of weights.
  template <typename Forward, typename InputGrad, typename WeightGrad, typename Describe, typename Prepare>
  void make(const memory::dims& src, const memory::dims& weights, memory::format_tag order,
            const memory::dims& dst, const Describe& describe, const Prepare& prepare);
  void finish(const memory::desc& user_src, const memory::desc& user_dst);
  void execute(int count, const dnnl_exec_arg_t* args);
  void reorder(const memory::desc& from, float* source, const memory::desc& to, float* target);

  ConvOptions options_;
  bool native_;
  bool sizes_only_;  // working_bytes_ is all that is wanted
  memory::data_type operand_;
  std::string name_;
  dnnl::stream stream_{cpu_engine()};
  dnnl::primitive_attr forward_attr_, backward_attr_;
  dnnl::primitive primitive_;
  Port src_, weights_, dst_;
  memory bias_;
  memory working_;  // its scratchpad
  std::size_t working_bytes_ = 0;
  std::shared_ptr<StackOffset> stack_;  // of Winograd
  memory::desc inner_src_, inner_dst_, inner_weights_, plain_weights_;
  // A blocked result of oneDNN's inner product: rows and their padding, which it does not write.
  std::int64_t padded_rows_ = 0, row_floats_ = 0, row_padded_ = 0;
};

template <typename Primitive>
void OneDnnConv::take(const typename Primitive::primitive_desc& pd, const memory::desc& src,
                      const memory::desc& dst, const memory::desc& weights) {
  working_bytes_ = pd.scratchpad_desc().get_size();
  if (sizes_only_) return;
  primitive_ = Primitive(pd);
  name_ = pd.impl_info_str();
  working_ = memory(pd.scratchpad_desc(), cpu_engine(), DNNL_MEMORY_NONE);
  scratchpad(working_bytes_);  // allocated here, so that run() of this thread allocates nothing
  inner_src_ = src;
  inner_dst_ = dst;
  inner_weights_ = weights;
}

template <typename Forward, typename InputGrad, typename WeightGrad, typename Describe, typename Prepare>
void OneDnnConv::make(const memory::dims& src_dims, const memory::dims& weight_dims, memory::format_tag order,
                      const memory::dims& dst_dims, const Describe& describe, const Prepare& prepare) {
  using std::type_identity;
  const auto any = memory::format_tag::any;
  const auto f32 = memory::data_type::f32;
  // Operands are rounded to their type, results are single precision.
  const auto type = [&](Operation result) { return options_.op == result ? f32 : operand_; };
  const memory::desc src(src_dims, type(Operation::kInputGrad), any);
  const memory::desc weights(weight_dims, type(Operation::kWeightGrad), order);
  const memory::desc dst(dst_dims, type(Operation::kForward), any);
  // Operands of forward, which the gradients refer to.
  const memory::desc forward_src(src_dims, operand_, any), forward_weights(weight_dims, operand_, order);
  const memory::desc bias({dst_dims[1]}, f32, memory::format_tag::x);
  const bool with_bias = options_.bias && options_.op == Operation::kForward;
  const type_identity<Forward> kind;
  typename Forward::primitive_desc forward(
      with_bias ? describe(kind, dnnl::prop_kind::forward_training, forward_src, forward_weights, bias, dst)
                : describe(kind, dnnl::prop_kind::forward_training, forward_src, forward_weights, dst),
      forward_attr_, cpu_engine());
  const auto gradient = [&]<typename Primitive>(type_identity<Primitive> of) {
    typename Primitive::primitive_desc pd(describe(of, src, weights, dst), backward_attr_, cpu_engine(),
                                          forward);
    prepare(pd);
    return pd;
  };
  if (options_.op == Operation::kForward) {
    prepare(forward);
    take<Forward>(forward, forward.src_desc(), forward.dst_desc(), forward.weights_desc());
    if (with_bias) bias_ = memory(bias, cpu_engine(), DNNL_MEMORY_NONE);
  } else if (options_.op == Operation::kInputGrad) {
    const auto pd = gradient(type_identity<InputGrad>());
    take<InputGrad>(pd, pd.diff_src_desc(), pd.diff_dst_desc(), pd.weights_desc());
  } else {
    const auto pd = gradient(type_identity<WeightGrad>());
    take<WeightGrad>(pd, pd.src_desc(), pd.diff_dst_desc(), pd.diff_weights_desc());
  }
}

// Where the caller's tensors and the primitive's differ, ports reorder.
void OneDnnConv::finish(const memory::desc& user_src, const memory::desc& user_dst) {
  if (sizes_only_) return;
  const Operation op = options_.op;
  const memory::desc& weights = options_.weights == WeightLayout::kPacked ? inner_weights_ : plain_weights_;
  src_ = Port(native_ ? inner_src_ : user_src, inner_src_, op == Operation::kInputGrad);
  weights_ = Port(weights, inner_weights_, op == Operation::kWeightGrad);
  dst_ = Port(native_ ? inner_dst_ : user_dst, inner_dst_, op == Operation::kForward);
}

// A linear layer runs as a matrix product: oneDNN's 1x1 convolution of 1x1 images is up to several times
// slower.
void OneDnnConv::make_linear(const LayerShape& s) {
  const auto f32 = memory::data_type::f32;
  plain_weights_ = {{s.k, s.c}, f32, memory::format_tag::ab};
  // Plain weights are multiplied as they are: to put them in another order first took longer than the product
  // (4096 x 4096, 32 images: forward 23.9 ms against 14.1, weight_grad 22.3 against 8.1).
  const bool as_given = options_.weights != WeightLayout::kPacked && operand_ == f32;
  make<dnnl::inner_product_forward, dnnl::inner_product_backward_data, dnnl::inner_product_backward_weights>(
      {s.n, s.c}, {s.k, s.c}, as_given ? memory::format_tag::ab : memory::format_tag::any, {s.n, s.k},
      []<typename Primitive>(std::type_identity<Primitive>, const auto&... tensors) {
        return typename Primitive::desc(tensors...);
      },
      [](const auto&) {});
  finish(rows(s.n, s.c, options_.layout_of_src()), rows(s.n, s.k, options_.layout_of_dst()));
  const bool to_dst = options_.op == Operation::kForward;
  const Layout result = to_dst ? options_.layout_of_dst() : options_.layout_of_src();
  if (native_ || result != Layout::kBlocked || options_.op == Operation::kWeightGrad) return;
  row_floats_ = to_dst ? s.k : s.c;
  row_padded_ = round_up(row_floats_, kLanes);
  padded_rows_ = row_padded_ == row_floats_ ? 0 : s.n;
}

void OneDnnConv::make_convolution(const LayerShape& s, OneDnnAlgorithm algorithm) {
  const memory::dims src_dims{s.n, s.c, s.input.h, s.input.w};
  const memory::dims dst_dims{s.n, s.k, s.output.h, s.output.w};
  const bool grouped = s.groups > 1;
  const memory::dims weight_dims =
      grouped ? memory::dims{s.groups, s.k_per_group(), s.c_per_group(), s.kernel.h, s.kernel.w}
              : memory::dims{s.k, s.c, s.kernel.h, s.kernel.w};
  using tag = memory::format_tag;
  const bool ohwi = options_.weights == WeightLayout::kOhwi;
  plain_weights_ = {weight_dims, memory::data_type::f32,
                    grouped ? (ohwi ? tag::gohwi : tag::goihw) : (ohwi ? tag::ohwi : tag::oihw)};
  const memory::dims strides{s.stride.h, s.stride.w};
  const memory::dims dilation{s.dilation.h - 1, s.dilation.w - 1};
  const memory::dims before{s.padding.h, s.padding.w};
  // Padding that the last output needs: less than the given one where the stride does not divide.
  const memory::dims after{
      (s.output.h - 1) * s.stride.h + (s.kernel.h - 1) * s.dilation.h + 1 - s.input.h - s.padding.h,
      (s.output.w - 1) * s.stride.w + (s.kernel.w - 1) * s.dilation.w + 1 - s.input.w - s.padding.w};
  const auto alg = algorithm == OneDnnAlgorithm::kItsChoice  ? dnnl::algorithm::convolution_auto
                   : algorithm == OneDnnAlgorithm::kWinograd ? dnnl::algorithm::convolution_winograd
                                                             : dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  make<Forward, dnnl::convolution_backward_data, dnnl::convolution_backward_weights>(
      src_dims, weight_dims, tag::any, dst_dims,
      [&]<typename Primitive>(std::type_identity<Primitive>, const auto& first, const auto&... rest) {
        if constexpr (std::is_same_v<Primitive, Forward>)  // the first is a kind
          return typename Primitive::desc(first, alg, rest..., strides, dilation, before, after);
        else
          return typename Primitive::desc(alg, first, rest..., strides, dilation, before, after);
      },
      [&](auto& pd) {
        if (algorithm == OneDnnAlgorithm::kGemm) find_gemm(pd, s);
      });
  if (name_.find("wino") != std::string::npos)
    stack_ =
        StackOffset::of(s.describe() + " n" + std::to_string(s.n) + " t" + std::to_string(options_.threads) +
                        " " + std::string(operation_name(options_.op)) + " " + name_);
  finish(tensor(src_dims, options_.layout_of_src()), tensor(dst_dims, options_.layout_of_dst()));
}

OneDnnConv::OneDnnConv(OneDnnAlgorithm algorithm, const KernelConfig& config, bool sizes_only)
    : options_(config.options),
      native_(config.native),
      sizes_only_(sizes_only),
      operand_(algorithm == OneDnnAlgorithm::kBfloat16 ? memory::data_type::bf16 : memory::data_type::f32) {
  const LayerShape& s = config.shape;
  const bool linear = s.kind == LayerKind::kLinear;
  if (linear && (algorithm == OneDnnAlgorithm::kGemm || algorithm == OneDnnAlgorithm::kWinograd))
    throw ConvError(ConvError::Code::kShape, s.describe() + " is one matrix product", "use direct");
  const ThreadScope threads(options_.threads);
  try {
    backward_attr_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    forward_attr_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (options_.relu && options_.op == Operation::kForward) {
      dnnl::post_ops ops;
      ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
      forward_attr_.set_post_ops(ops);
    }
    if (linear)
      make_linear(s);
    else
      make_convolution(s, algorithm);
  } catch (const dnnl::error& e) {
    throw ConvError(ConvError::Code::kShape,
                    std::string("oneDNN cannot do ") + s.describe() + " (" + e.what() + ")",
                    "use the sparse or the reference implementation");
  }
}

void OneDnnConv::execute(int count, const dnnl_exec_arg_t* args) {
  struct Call {
    OneDnnConv* conv;
    int count;
    const dnnl_exec_arg_t* args;
    dnnl_status_t status;
  } call{this, count, args, dnnl_success};
  const auto run = [](void* context) {
    auto& c = *static_cast<Call*>(context);
    c.status = dnnl_primitive_execute(c.conv->primitive_.get(), c.conv->stream_.get(), c.count, c.args);
  };
  if (stack_) {
    const clockid_t clock = options_.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const std::size_t offset = stack_->next();
    const double start = clock_seconds(clock);
    call_with_stack(offset, run, &call);
    stack_->took(offset, clock_seconds(clock) - start);
  } else {
    run(&call);
  }
  dnnl::error::wrap_c_api(call.status, "could not run a convolution");
}

void OneDnnConv::run(const ConvTensors& t, const KernelMemory& memory) {
  const ThreadScope threads(options_.threads);
  const Operation op = options_.op;
  float* copies = src_.attach(op == Operation::kInputGrad ? t.diff_src : t.src, memory.scratch);
  copies = dst_.attach(op == Operation::kForward ? t.dst : t.diff_dst, copies);
  weights_.attach(keeps_weights() ? t.weights : t.diff_weights, keeps_weights() ? memory.kept : copies);
  if (op != Operation::kInputGrad) src_.reorder_in(stream_);
  const bool same = same_weights(t);
  if (op != Operation::kWeightGrad && !same) weights_.reorder_in(stream_);
  if (op != Operation::kForward) dst_.reorder_in(stream_);
  std::array<dnnl_exec_arg_t, 5> args{};
  int count = 3;
  args[0] = {op == Operation::kInputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, src_.inner()};
  args[1] = {op == Operation::kWeightGrad ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weights_.inner()};
  args[2] = {op == Operation::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, dst_.inner()};
  if (op == Operation::kForward && options_.bias) {
    bias_.set_data_handle(const_cast<float*>(t.bias));
    args[3] = {DNNL_ARG_BIAS, bias_.get()};
    count = 4;
  }
  if (working_bytes_ > 0) {
    working_.set_data_handle(scratchpad(working_bytes_));
    args[static_cast<std::size_t>(count++)] = {DNNL_ARG_SCRATCHPAD, working_.get()};
  }
  execute(count, args.data());
  if (op == Operation::kInputGrad) src_.reorder_out(stream_);
  if (op == Operation::kWeightGrad) weights_.reorder_out(stream_);
  if (op == Operation::kForward) dst_.reorder_out(stream_);
  stream_.wait();
  float* result = op == Operation::kForward ? t.dst : t.diff_src;
  for (std::int64_t n = 0; n < padded_rows_; ++n)
    std::fill(result + n * row_padded_ + row_floats_, result + (n + 1) * row_padded_, 0.0F);
}

void OneDnnConv::reorder(const memory::desc& from, float* source, const memory::desc& to, float* target) {
  const ThreadScope threads(options_.threads);
  memory in(from, cpu_engine(), source), out(to, cpu_engine(), target);
  dnnl::reorder(in, out).execute(stream_, in, out);
  stream_.wait();
}

template <OneDnnAlgorithm algorithm>
std::unique_ptr<ConvKernel> make(const KernelConfig& config) {
  return make_onednn(algorithm, config);
}

}  // namespace

std::unique_ptr<ConvKernel> make_onednn(OneDnnAlgorithm algorithm, const KernelConfig& config) {
  return std::make_unique<OneDnnConv>(algorithm, config);
}

std::size_t onednn_scratchpad_bytes(OneDnnAlgorithm algorithm, const LayerShape& shape,
                                    const ConvOptions& options) {
  try {
    return OneDnnConv(algorithm, KernelConfig(shape, options), true).working_bytes();
  } catch (const ConvError&) {  // not for this shape
    return 0;
  }
}

const ConvImplementation kOneDnnDirect{.name = "direct",
                                       .description = "oneDNN, direct convolution",
                                       .make = make<OneDnnAlgorithm::kDirect>,
                                       .may_choose = always};
const ConvImplementation kOneDnnGemm{.name = "gemm",
                                     .description = "oneDNN, by matrix products",
                                     .make = make<OneDnnAlgorithm::kGemm>,
                                     .may_choose = always,
                                     .reorders = true};
// Its first runs look for the better place of the stack.
const ConvImplementation kOneDnnWinograd{
    .name = "winograd",
    .description = "oneDNN, Winograd: 3x3, larger rounding errors",
    .make = make<OneDnnAlgorithm::kWinograd>,
    .may_choose = [](const ConvOptions& options) { return options.allow_winograd; },
    .warm_up_runs = StackOffset::kRuns};
const ConvImplementation kOneDnnAuto{.name = "onednn_auto",
                                     .description = "oneDNN, the algorithm that it chooses (Winograd on 3x3)",
                                     .make = make<OneDnnAlgorithm::kItsChoice>};

}  // namespace lacuna::kernels
