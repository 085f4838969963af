#include "kernels/dense/dense_conv.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "kernels/dense/onednn.hpp"
#include "kernels/dense/scratchpad.hpp"
#include "kernels/dense/stack_offset.hpp"
#include "kernels/dense1x1/dense1x1_conv.hpp"

namespace lacuna::kernels {
namespace {

using dnnl::memory;

// One tensor: as the caller has it and as the primitive wants it, with a reorder where they differ.
class Port {
 public:
  Port() = default;
  Port(const memory::desc& user, const memory::desc& inner, bool output) : same_(user == inner) {
    user_ = memory(user, cpu_engine(), DNNL_MEMORY_NONE);
    inner_ = same_ ? user_ : memory(inner, cpu_engine());
    if (!same_) reorder_ = output ? dnnl::reorder(inner_, user_) : dnnl::reorder(user_, inner_);
  }
  // Only written to if this is an output.
  void attach(const float* data) { user_.set_data_handle(const_cast<float*>(data)); }
  void reorder_in(dnnl::stream& stream) {
    if (!same_) reorder_.execute(stream, user_, inner_);
  }
  void reorder_out(dnnl::stream& stream) {
    if (!same_) reorder_.execute(stream, inner_, user_);
  }
  dnnl_memory_t inner() const { return inner_.get(); }

 private:
  bool same_ = true;
  memory user_;
  memory inner_;
  dnnl::reorder reorder_;
};

// oneDNN has no name for its convolutions by matrix products: it is asked for the next implementation until
// one comes.
template <typename PrimitiveDesc>
void find_gemm(PrimitiveDesc& pd, const LayerShape& shape) {
  while (std::string_view(pd.impl_info_str()).find("gemm") == std::string_view::npos)
    if (!pd.next_impl())
      throw ConvError(ConvError::Code::kShape,
                      std::string("oneDNN has no matrix product for ") + shape.describe(), "use direct");
}

}  // namespace

struct DenseConv::State {
  ConvOptions options;
  std::string name;
  std::unique_ptr<Bfloat16Conv> bfloat16;  // tiles in place of a primitive,
  std::unique_ptr<Dense1x1Conv> pixels;    // and this one, too
  dnnl::stream stream{cpu_engine()};
  dnnl::primitive primitive;
  Port src, weights, dst;
  memory bias;
  memory working;  // its scratchpad
  std::size_t working_bytes = 0;
  bool sizes_only = false;             // working_bytes is all that is wanted
  std::shared_ptr<StackOffset> stack;  // of Winograd
  memory::desc inner_src, inner_dst, inner_weights, plain_weights;
  // A blocked result of oneDNN's inner product: rows and their padding, which it does not write.
  std::int64_t padded_rows = 0, row_floats = 0, row_padded = 0;

  // Rows of a linear layer; blocked ones are padded to whole vectors.
  static memory::desc rows(std::int64_t n, std::int64_t c, Layout layout) {
    const std::int64_t stride = layout == Layout::kBlocked ? (c + 15) / 16 * 16 : c;
    return {{n, c}, memory::data_type::f32, memory::dims{stride, 1}};
  }
  // Operands are rounded to their type, results are single precision.
  memory::data_type operand = memory::data_type::f32;
  memory::data_type type_unless(Operation result) const {
    return options.op == result ? memory::data_type::f32 : operand;
  }
  memory::data_type type_of_src() const { return type_unless(Operation::kInputGrad); }
  memory::data_type type_of_weights() const { return type_unless(Operation::kWeightGrad); }
  memory::data_type type_of_dst() const { return type_unless(Operation::kForward); }
  // Uses a primitive and the layouts that it has chosen.
  template <typename Primitive>
  void take(const typename Primitive::primitive_desc& pd, const memory::desc& chosen_src,
            const memory::desc& chosen_dst, const memory::desc& chosen_weights) {
    working_bytes = pd.scratchpad_desc().get_size();
    if (sizes_only) return;
    primitive = Primitive(pd);
    name = pd.impl_info_str();
    working = memory(pd.scratchpad_desc(), cpu_engine(), DNNL_MEMORY_NONE);
    scratchpad(working_bytes);  // allocated here, so that run() of this thread allocates nothing
    inner_src = chosen_src;
    inner_dst = chosen_dst;
    inner_weights = chosen_weights;
  }
  void execute(int count, const dnnl_exec_arg_t* args);
  void make_linear(const LayerShape& s, const dnnl::primitive_attr& attr,
                   const dnnl::primitive_attr& backward, bool native);
  void finish(bool native, const memory::desc& user_src, const memory::desc& user_dst);

  static memory::desc tensor(const memory::dims& dims, Layout layout) {
    using tag = memory::format_tag;
    const tag order = layout == Layout::kNchw   ? tag::nchw
                      : layout == Layout::kNhwc ? tag::nhwc
                                                : tag::nChw16c;
    return {dims, memory::data_type::f32, order};
  }
};

// Where the caller's tensors and the primitive's differ, ports reorder.
void DenseConv::State::finish(bool native, const memory::desc& user_src, const memory::desc& user_dst) {
  if (sizes_only) return;
  const memory::desc user_weights = options.weights == WeightLayout::kPacked ? inner_weights : plain_weights;
  src = Port(native ? inner_src : user_src, inner_src, options.op == Operation::kInputGrad);
  weights = Port(user_weights, inner_weights, options.op == Operation::kWeightGrad);
  dst = Port(native ? inner_dst : user_dst, inner_dst, options.op == Operation::kForward);
}

// A linear layer runs as a matrix product: oneDNN's 1x1 convolution of 1x1 images is up to several times
// slower.
void DenseConv::State::make_linear(const LayerShape& s, const dnnl::primitive_attr& attr,
                                   const dnnl::primitive_attr& backward, bool native) {
  const auto f32 = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  plain_weights = {{s.k, s.c}, f32, memory::format_tag::ab};
  // Plain weights are multiplied as they are: to put them in another order first took longer than the product
  // (4096 x 4096, 32 images: forward 23.9 ms against 14.1, weight_grad 22.3 against 8.1).
  const bool as_given = options.weights != WeightLayout::kPacked && operand == f32;
  const auto order = as_given ? memory::format_tag::ab : any;
  const memory::desc any_src({s.n, s.c}, type_of_src(), any), any_dst({s.n, s.k}, type_of_dst(), any);
  const memory::desc any_weights({s.k, s.c}, type_of_weights(), order);
  const memory::desc forward_src({s.n, s.c}, operand, any), forward_weights({s.k, s.c}, operand, order);
  const memory::desc bias_desc({s.k}, f32, memory::format_tag::x);
  const bool with_bias = options.bias && options.op == Operation::kForward;
  using Forward = dnnl::inner_product_forward;
  const auto kind = dnnl::prop_kind::forward_training;
  const Forward::primitive_desc forward(
      with_bias ? Forward::desc(kind, forward_src, forward_weights, bias_desc, any_dst)
                : Forward::desc(kind, forward_src, forward_weights, any_dst),
      attr, cpu_engine());
  if (options.op == Operation::kForward) {
    take<Forward>(forward, forward.src_desc(), forward.dst_desc(), forward.weights_desc());
    if (with_bias) bias = memory(bias_desc, cpu_engine(), DNNL_MEMORY_NONE);
  } else if (options.op == Operation::kInputGrad) {
    using Backward = dnnl::inner_product_backward_data;
    const Backward::primitive_desc pd(Backward::desc(any_src, any_weights, any_dst), backward, cpu_engine(),
                                      forward);
    take<Backward>(pd, pd.diff_src_desc(), pd.diff_dst_desc(), pd.weights_desc());
  } else {
    using Backward = dnnl::inner_product_backward_weights;
    const Backward::primitive_desc pd(Backward::desc(any_src, any_weights, any_dst), backward, cpu_engine(),
                                      forward);
    take<Backward>(pd, pd.src_desc(), pd.diff_dst_desc(), pd.diff_weights_desc());
  }
  finish(native, rows(s.n, s.c, options.layout_of_src()), rows(s.n, s.k, options.layout_of_dst()));
  const bool to_dst = options.op == Operation::kForward;
  const Layout result = to_dst ? options.layout_of_dst() : options.layout_of_src();
  if (native || result != Layout::kBlocked || options.op == Operation::kWeightGrad) return;
  row_floats = to_dst ? s.k : s.c;
  row_padded = (row_floats + 15) / 16 * 16;
  padded_rows = row_padded == row_floats ? 0 : s.n;
}

void DenseConv::State::execute(int count, const dnnl_exec_arg_t* args) {
  struct Call {
    State* state;
    int count;
    const dnnl_exec_arg_t* args;
    dnnl_status_t status;
  } call{this, count, args, dnnl_success};
  const auto run = [](void* context) {
    auto& c = *static_cast<Call*>(context);
    c.status = dnnl_primitive_execute(c.state->primitive.get(), c.state->stream.get(), c.count, c.args);
  };
  if (stack) {
    const clockid_t clock = options.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const std::size_t offset = stack->next();
    const double start = clock_seconds(clock);
    call_with_stack(offset, run, &call);
    stack->took(offset, clock_seconds(clock) - start);
  } else {
    run(&call);
  }
  dnnl::error::wrap_c_api(call.status, "could not run a convolution");
}

DenseConv::DenseConv(const LayerShape& shape, const ConvOptions& options, Impl algorithm, bool native)
    : DenseConv(shape, options, algorithm, native, false) {}

std::size_t DenseConv::scratchpad_bytes(const LayerShape& shape, const ConvOptions& options, Impl algorithm) {
  try {
    return DenseConv(shape, options, algorithm, false, true).state_->working_bytes;
  } catch (const ConvError&) {  // not for this shape
    return 0;
  }
}

DenseConv::DenseConv(const LayerShape& s, const ConvOptions& options, Impl algorithm, bool native,
                     bool sizes_only)
    : state_(std::make_unique<State>()) {
  State& st = *state_;
  st.options = options;
  st.sizes_only = sizes_only;
  const bool rounds = algorithm == Impl::kBfloat16;
  if (rounds && bfloat16_unit(options.isa) != Bfloat16Unit::kPairs) {
    st.bfloat16 = std::make_unique<Bfloat16Conv>(s, options);
    st.name = st.bfloat16->name();
    return;
  }
  if (algorithm == Impl::kDense1x1) {
    st.pixels = std::make_unique<Dense1x1Conv>(s, options);
    st.name = st.pixels->name();
    return;
  }
  if (rounds) {
    check_bfloat16(s, options);
    st.operand = memory::data_type::bf16;
  }
  const ThreadScope threads(options.threads);
  const auto f32 = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  const memory::dims src_dims{s.n, s.c, s.input.h, s.input.w};
  const memory::dims dst_dims{s.n, s.k, s.output.h, s.output.w};
  const bool grouped = s.groups > 1;
  const memory::dims weight_dims =
      grouped ? memory::dims{s.groups, s.k_per_group(), s.c_per_group(), s.kernel.h, s.kernel.w}
              : memory::dims{s.k, s.c, s.kernel.h, s.kernel.w};
  using tag = memory::format_tag;
  const bool ohwi = options.weights == WeightLayout::kOhwi;
  st.plain_weights = {weight_dims, f32,
                      grouped ? (ohwi ? tag::gohwi : tag::goihw) : (ohwi ? tag::ohwi : tag::oihw)};
  const memory::desc src(src_dims, st.type_of_src(), any), weights(weight_dims, st.type_of_weights(), any),
      dst(dst_dims, st.type_of_dst(), any);
  // Of forward, which the other two refer to.
  const memory::desc forward_src(src_dims, st.operand, any), forward_weights(weight_dims, st.operand, any);
  const memory::desc bias({s.k}, f32, memory::format_tag::x);
  const memory::dims strides{s.stride.h, s.stride.w};
  const memory::dims dilation{s.dilation.h - 1, s.dilation.w - 1};
  const memory::dims before{s.padding.h, s.padding.w};
  // Padding that the last output needs: less than the given one where the stride does not divide.
  const memory::dims after{
      (s.output.h - 1) * s.stride.h + (s.kernel.h - 1) * s.dilation.h + 1 - s.input.h - s.padding.h,
      (s.output.w - 1) * s.stride.w + (s.kernel.w - 1) * s.dilation.w + 1 - s.input.w - s.padding.w};
  const auto alg = algorithm == Impl::kDenseAuto       ? dnnl::algorithm::convolution_auto
                   : algorithm == Impl::kDenseWinograd ? dnnl::algorithm::convolution_winograd
                                                       : dnnl::algorithm::convolution_direct;
  try {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::primitive_attr backward = attr;  // without what follows forward
    if (options.relu && options.op == Operation::kForward) {
      dnnl::post_ops ops;
      ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
      attr.set_post_ops(ops);
    }
    const bool gemm = algorithm == Impl::kDenseGemm;
    if (s.kind == LayerKind::kLinear && (gemm || algorithm == Impl::kDenseWinograd))
      throw ConvError(ConvError::Code::kShape, s.describe() + " is one matrix product", "use direct");
    if (s.kind == LayerKind::kLinear) {
      st.make_linear(s, attr, backward, native);
      return;
    }
    const bool with_bias = options.bias && options.op == Operation::kForward;
    using Forward = dnnl::convolution_forward;
    const auto kind = dnnl::prop_kind::forward_training;
    const auto forward_desc = with_bias ? Forward::desc(kind, alg, forward_src, forward_weights, bias, dst,
                                                        strides, dilation, before, after)
                                        : Forward::desc(kind, alg, forward_src, forward_weights, dst, strides,
                                                        dilation, before, after);
    Forward::primitive_desc forward(forward_desc, attr, cpu_engine());
    if (options.op == Operation::kForward) {
      if (gemm) find_gemm(forward, s);
      st.take<Forward>(forward, forward.src_desc(), forward.dst_desc(), forward.weights_desc());
      if (with_bias) st.bias = memory(bias, cpu_engine(), DNNL_MEMORY_NONE);
    } else if (options.op == Operation::kInputGrad) {
      using Backward = dnnl::convolution_backward_data;
      Backward::primitive_desc pd(Backward::desc(alg, src, weights, dst, strides, dilation, before, after),
                                  backward, cpu_engine(), forward);
      if (gemm) find_gemm(pd, s);
      st.take<Backward>(pd, pd.diff_src_desc(), pd.diff_dst_desc(), pd.weights_desc());
    } else {
      using Backward = dnnl::convolution_backward_weights;
      Backward::primitive_desc pd(Backward::desc(alg, src, weights, dst, strides, dilation, before, after),
                                  backward, cpu_engine(), forward);
      if (gemm) find_gemm(pd, s);
      st.take<Backward>(pd, pd.src_desc(), pd.diff_dst_desc(), pd.diff_weights_desc());
    }
    if (st.name.find("wino") != std::string::npos)
      st.stack =
          StackOffset::of(s.describe() + " n" + std::to_string(s.n) + " t" + std::to_string(options.threads) +
                          " " + std::string(operation_name(options.op)) + " " + st.name);
    st.finish(native, State::tensor(src_dims, options.layout_of_src()),
              State::tensor(dst_dims, options.layout_of_dst()));
  } catch (const dnnl::error& e) {
    throw ConvError(ConvError::Code::kShape,
                    std::string("oneDNN cannot do ") + s.describe() + " (" + e.what() + ")",
                    "use the sparse or the reference implementation");
  }
}

DenseConv::~DenseConv() = default;

const char* DenseConv::name() const { return state_->name.c_str(); }

namespace {
std::int64_t floats_of(const memory::desc& desc) {
  return static_cast<std::int64_t>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
}
}  // namespace

std::int64_t DenseConv::src_floats() const { return floats_of(state_->inner_src); }
std::int64_t DenseConv::dst_floats() const { return floats_of(state_->inner_dst); }
std::int64_t DenseConv::packed_floats() const {
  return state_->bfloat16 ? state_->bfloat16->packed_floats()
         : state_->pixels ? state_->pixels->packed_floats()
                          : floats_of(state_->inner_weights);
}

void DenseConv::run(const ConvTensors& t, bool same_weights) {
  State& st = *state_;
  if (st.bfloat16) return st.bfloat16->run(t, same_weights);
  if (st.pixels) return st.pixels->run(t, same_weights);
  const ThreadScope threads(st.options.threads);
  const Operation op = st.options.op;
  st.src.attach(op == Operation::kInputGrad ? t.diff_src : t.src);
  st.weights.attach(op == Operation::kWeightGrad ? t.diff_weights : t.weights);
  st.dst.attach(op == Operation::kForward ? t.dst : t.diff_dst);
  if (op != Operation::kInputGrad) st.src.reorder_in(st.stream);
  if (op != Operation::kWeightGrad && !same_weights) st.weights.reorder_in(st.stream);
  if (op != Operation::kForward) st.dst.reorder_in(st.stream);
  std::array<dnnl_exec_arg_t, 5> args{};
  int count = 3;
  args[0] = {op == Operation::kInputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, st.src.inner()};
  args[1] = {op == Operation::kWeightGrad ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, st.weights.inner()};
  args[2] = {op == Operation::kForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, st.dst.inner()};
  if (op == Operation::kForward && st.options.bias) {
    st.bias.set_data_handle(const_cast<float*>(t.bias));
    args[3] = {DNNL_ARG_BIAS, st.bias.get()};
    count = 4;
  }
  if (st.working_bytes > 0) {
    st.working.set_data_handle(scratchpad(st.working_bytes));
    args[static_cast<std::size_t>(count++)] = {DNNL_ARG_SCRATCHPAD, st.working.get()};
  }
  st.execute(count, args.data());
  if (op == Operation::kInputGrad) st.src.reorder_out(st.stream);
  if (op == Operation::kWeightGrad) st.weights.reorder_out(st.stream);
  if (op == Operation::kForward) st.dst.reorder_out(st.stream);
  st.stream.wait();
  float* result = op == Operation::kForward ? t.dst : t.diff_src;
  for (std::int64_t n = 0; n < st.padded_rows; ++n)
    std::fill(result + n * st.row_padded + st.row_floats, result + (n + 1) * st.row_padded, 0.0F);
}

void DenseConv::pack(const float* oihw, float* packed) {
  if (state_->bfloat16) return state_->bfloat16->pack(oihw, packed);
  if (state_->pixels) return state_->pixels->pack(oihw, packed);
  const ThreadScope threads(state_->options.threads);
  memory from(state_->plain_weights, cpu_engine(), const_cast<float*>(oihw));
  memory to(state_->inner_weights, cpu_engine(), packed);
  dnnl::reorder(from, to).execute(state_->stream, from, to);
  state_->stream.wait();
}

void DenseConv::unpack(const float* packed, float* oihw) {
  if (state_->bfloat16) return state_->bfloat16->unpack(packed, oihw);
  const ThreadScope threads(state_->options.threads);
  memory from(state_->inner_weights, cpu_engine(), const_cast<float*>(packed));
  memory to(state_->plain_weights, cpu_engine(), oihw);
  dnnl::reorder(from, to).execute(state_->stream, from, to);
  state_->stream.wait();
}

}  // namespace lacuna::kernels
