// ConvPlan: what is checked, where memory lies, which implementation runs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/blocked.hpp"
#include "kernels/conv.hpp"
#include "kernels/dense/dense_conv.hpp"
#include "kernels/dispatch/calibrate.hpp"
#include "kernels/dispatch/cost_model.hpp"
#include "kernels/ref/ref_conv.hpp"
#include "kernels/sparse/sparse_conv.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;
constexpr std::size_t kAlign = 64;

void check_options(const LayerShape& shape, const ConvOptions& o) {
  shape.validate("convolution");
  if (o.threads < 1 || o.threads > 1024)
    throw ConvError(Code::kOption, "threads is " + std::to_string(o.threads), "give 1 to 1024");
  if ((o.bias || o.relu) && o.op != Operation::kForward)
    throw ConvError(Code::kOption, "bias and relu belong to forward",
                    "leave them out of the other operations");
  if (o.checked) {
    if (o.op == Operation::kForward && *o.checked != Checked::kActivations)
      throw ConvError(Code::kOption, "forward has no gradients to check", "check activations");
    if (o.op == Operation::kInputGrad && *o.checked != Checked::kGradients)
      throw ConvError(Code::kOption, "input_grad has no activations to check", "check gradients");
  }
  const bool whole = shape.c_per_group() % kLanes == 0 && shape.k_per_group() % kLanes == 0;
  const bool any_blocked = o.layout_of_src() == Layout::kBlocked || o.layout_of_dst() == Layout::kBlocked;
  if (any_blocked && shape.groups > 1 && !whole)
    throw ConvError(Code::kOption, "a blocked layout needs a multiple of 16 channels in each group",
                    "use a plain layout for this convolution");
  if (o.impl == Impl::kReference && o.weights == WeightLayout::kPacked)
    throw ConvError(Code::kOption, "the reference has no packed weights", "use oihw");
}

Isa pick_isa(const std::string& name) {
  if (name.empty()) return best_isa();
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable})
    if (name == isa_name(isa)) {
      if (isa_available(isa)) return isa;
      throw ConvError(Code::kOption, "this CPU has no " + name, "use portable or leave isa empty");
    }
  throw ConvError(Code::kOption, "isa '" + name + "' is unknown", "use avx512, avx2 or portable");
}

Checked checked_of(const ConvOptions& o) {
  if (o.checked) return *o.checked;
  return o.op == Operation::kInputGrad ? Checked::kGradients : Checked::kActivations;
}

bool all_finite(const float* data, std::int64_t count, int threads) {
  bool finite = true;
#pragma omp parallel for num_threads(threads) reduction(&& : finite) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) finite = finite && std::isfinite(data[i]);
  return finite;
}

}  // namespace

const char* impl_name(Impl impl) {
  switch (impl) {
    case Impl::kAuto:
      return "auto";
    case Impl::kSparse:
      return "sparse";
    case Impl::kDenseDirect:
      return "direct";
    case Impl::kDenseAuto:
      return "onednn_auto";
    case Impl::kReference:
      break;
  }
  return "reference";
}

struct ConvPlan::State {
  LayerShape shape;
  ConvOptions options;
  Checked checked = Checked::kActivations;
  std::unique_ptr<SparseConv> sparse;
  std::unique_ptr<DenseConv> dense;
  CostCurve cost;
  std::int64_t sampled_lines = kMaxSampledLines;  // of the checked tensor, to know its zeros
  std::string kernel_name;

  // Parts of the workspace, in floats from its start.
  std::int64_t weights_at = 0, bias_at = 0, scratch_at = 0, total = 0;
  float* workspace = nullptr;
  std::unique_ptr<float[], void (*)(float*)> owned{
      nullptr, [](float* p) { ::operator delete[](p, std::align_val_t{kAlign}); }};
  std::vector<double> reference;

  // Of the two tensors of pixels: src (or diff_src) and dst (or diff_dst).
  struct Side {
    BlockedShape shape;
    Layout layout = Layout::kNchw;
    std::int64_t at = 0;  // in the workspace, of a blocked copy of a plain tensor

    bool blocked() const { return layout == Layout::kBlocked; }
    std::int64_t floats() const { return blocked() ? shape.floats() : shape.plain_floats(); }
  };
  Side src, dst;
  bool packed() const { return options.weights == WeightLayout::kPacked; }
  bool automatic() const { return options.impl == Impl::kAuto; }
  const Side& checked_side() const { return checked == Checked::kActivations ? src : dst; }
  const Side& other_side() const { return checked == Checked::kActivations ? dst : src; }

  // kAuto keeps both packings side by side, after a line that says which of them hold weights.
  std::int64_t header_floats() const { return automatic() ? kLanes : 0; }
  std::int64_t sparse_floats() const { return sparse ? round_up(sparse->packed_floats(), kLanes) : 0; }
  std::int64_t weight_floats() const {
    if (!packed()) return shape.w_elements();
    return header_floats() + sparse_floats() + (dense ? dense->packed_floats() : 0);
  }

  void make(const LayerShape& s, const ConvOptions& o) {
    check_options(s, o);
    shape = s;
    options = o;
    checked = checked_of(o);
    src = {blocked_src(s), o.layout_of_src()};
    dst = {blocked_dst(s), o.layout_of_dst()};
    const Isa isa = pick_isa(o.isa);
    if (o.impl == Impl::kSparse || automatic())
      sparse = make_sparse_conv({s, o.op, checked, isa, o.threads, l1_data_bytes()});
    const bool needs_dense =
        o.impl == Impl::kDenseDirect || o.impl == Impl::kDenseAuto || automatic() || o.strict;
    if (needs_dense && o.impl != Impl::kReference)
      dense = std::make_unique<DenseConv>(s, o,
                                          o.impl == Impl::kDenseAuto || (automatic() && o.allow_winograd)
                                              ? Impl::kDenseAuto
                                              : Impl::kDenseDirect);
    if (sparse) plan_workspace();
    kernel_name = sparse && dense ? std::string(sparse->name()) + " or " + dense->name()
                  : sparse        ? sparse->name()
                  : dense         ? dense->name()
                                  : "reference";
  }

  void plan_workspace() {
    const bool forward_like = options.op != Operation::kWeightGrad;
    auto take = [this](std::int64_t floats) {
      const std::int64_t at = total;
      total += round_up(floats, kLanes);
      return at;
    };
    for (Side* side : {&src, &dst})
      if (!side->blocked()) side->at = take(side->shape.floats());
    if (!packed()) weights_at = take(sparse->packed_floats());
    const BlockedShape& result = options.op == Operation::kInputGrad ? src.shape : dst.shape;
    if (forward_like) bias_at = take(result.groups * result.blocks() * kLanes);
    scratch_at = take(sparse->workspace_floats());
  }

  void take_workspace(void* given, std::size_t size) {
    const std::size_t bytes = static_cast<std::size_t>(total) * sizeof(float);
    if (given != nullptr) {
      if (reinterpret_cast<std::uintptr_t>(given) % kAlign != 0)
        throw ConvError(Code::kMisaligned, "the workspace is not aligned to 64 bytes", "allocate it so");
      if (size < bytes)
        throw ConvError(
            Code::kWorkspaceTooSmall,
            "the workspace has " + std::to_string(size) + " bytes, the plan needs " + std::to_string(bytes),
            "ask workspace_bytes()");
      workspace = static_cast<float*>(given);
    } else if (bytes > 0) {
      owned.reset(static_cast<float*>(::operator new[](bytes, std::align_val_t{kAlign})));
      workspace = owned.get();
    }
    if (options.impl == Impl::kReference) {
      const RefConv ref(shape, options);
      reference.resize(static_cast<std::size_t>(ref.result_size()));
    }
  }

  const float* checked_tensor(const ConvTensors& t) const {
    return checked == Checked::kActivations ? t.src : t.diff_dst;
  }

  double sampled_zeros(const ConvTensors& t) const {
    const Side& side = checked_side();
    const double zeros = sample_zeros(checked_tensor(t), side.floats(), sampled_lines);
    // Padding channels are zeros of the layout, not of the tensor.
    const double filled = static_cast<double>(side.shape.plain_floats()) / static_cast<double>(side.floats());
    return std::clamp(1 - (1 - zeros) / filled, 0.0, 1.0);
  }

  bool other_is_finite(const ConvTensors& t) const {
    if (options.op == Operation::kWeightGrad)
      return all_finite(checked == Checked::kActivations ? t.diff_dst : t.src, other_side().floats(),
                        options.threads);
    const float* weights = packed() ? t.weights + header_floats() : t.weights;
    return all_finite(weights, packed() ? sparse->packed_floats() : shape.w_elements(), options.threads);
  }

  void check_tensors(const ConvTensors& t) const;
  void run_sparse(const ConvTensors& t);
  void run_dense(const ConvTensors& t);
  void run_reference(const ConvTensors& t);
  ConvRun run(const ConvTensors& t, double zeros);
};

void ConvPlan::State::check_tensors(const ConvTensors& t) const {
  struct Used {
    const char* name;
    const float* data;
    std::int64_t floats;
    bool vector_aligned;
  };
  const bool forward = options.op == Operation::kForward;
  const bool weight_grad = options.op == Operation::kWeightGrad;
  std::array<Used, 4> used{};
  std::size_t count = 0;
  // The result comes first.
  const Used src_tensor{forward || weight_grad ? "src" : "diff_src",
                        forward || weight_grad ? t.src : t.diff_src, src.floats(), src.blocked()};
  const Used dst_tensor{forward ? "dst" : "diff_dst", forward ? t.dst : t.diff_dst, dst.floats(),
                        dst.blocked()};
  const Used weights{weight_grad ? "diff_weights" : "weights", weight_grad ? t.diff_weights : t.weights,
                     weight_floats(), packed()};
  used[count++] = forward ? dst_tensor : weight_grad ? weights : src_tensor;
  used[count++] = forward || weight_grad ? src_tensor : dst_tensor;
  used[count++] = weight_grad ? dst_tensor : weights;
  if (options.bias) used[count++] = {"bias", t.bias, shape.k, false};
  for (std::size_t i = 0; i < count; ++i) {
    const Used& u = used[i];
    if (u.data == nullptr)
      throw ConvError(Code::kNullPointer, std::string(u.name) + " is null",
                      std::string("give the tensors of ") + std::string(operation_name(options.op)));
    const std::size_t align = u.vector_aligned ? kAlign : alignof(float);
    if (reinterpret_cast<std::uintptr_t>(u.data) % align != 0)
      throw ConvError(Code::kMisaligned,
                      std::string(u.name) + " is not aligned to " + std::to_string(align) + " bytes",
                      "align it or use a plain layout");
    if (i == 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(used[0].data);
    const auto end = begin + static_cast<std::uintptr_t>(used[0].floats) * sizeof(float);
    const auto from = reinterpret_cast<std::uintptr_t>(u.data);
    const auto to = from + static_cast<std::uintptr_t>(u.floats) * sizeof(float);
    if (from < end && begin < to)
      throw ConvError(Code::kOverlap, std::string(used[0].name) + " overlaps " + u.name,
                      "give the result memory of its own");
  }
}

void ConvPlan::State::run_sparse(const ConvTensors& t) {
  const bool forward_like = options.op != Operation::kWeightGrad;
  const int threads = options.threads;
  auto input = [&](const Side& side, const float* data) -> const float* {
    if (side.blocked()) return data;
    to_blocked(side.shape, side.layout, data, workspace + side.at, threads);
    return workspace + side.at;
  };
  SparseRun run{};
  run.relu = options.relu;
  run.workspace = workspace + scratch_at;
  if (forward_like) {
    const bool forward = options.op == Operation::kForward;
    const Side& side = forward ? dst : src;
    const BlockedShape& result = side.shape;
    float* user = forward ? t.dst : t.diff_src;
    run.checked = forward ? input(src, t.src) : input(dst, t.diff_dst);
    run.out = side.blocked() ? user : workspace + side.at;
    if (packed()) {
      run.other = t.weights + header_floats();
    } else {
      sparse->pack(t.weights, workspace + weights_at);
      run.other = workspace + weights_at;
    }
    float* bias = workspace + bias_at;
    std::fill(bias, bias + result.groups * result.blocks() * kLanes, 0.0F);
    if (options.bias)
      for (std::int64_t k = 0; k < shape.k; ++k)
        bias[k / result.channels * result.blocks() * kLanes + k % result.channels] = t.bias[k];
    run.bias = bias;
    sparse->run(run);
    if (!side.blocked()) from_blocked(result, side.layout, run.out, user, threads);
    return;
  }
  const float* a = input(src, t.src);
  const float* g = input(dst, t.diff_dst);
  run.checked = checked == Checked::kActivations ? a : g;
  run.other = checked == Checked::kActivations ? g : a;
  run.out = packed() ? t.diff_weights + header_floats() : workspace + weights_at;
  sparse->run(run);
  if (!packed()) sparse->unpack(run.out, t.diff_weights);
  if (packed() && automatic()) t.diff_weights[0] = 1;
}

void ConvPlan::State::run_dense(const ConvTensors& t) {
  if (!packed() || !sparse) return dense->run(t);
  ConvTensors moved = t;
  const std::int64_t at = header_floats() + sparse_floats();
  if (options.op == Operation::kWeightGrad)
    moved.diff_weights = t.diff_weights + at;
  else
    moved.weights = t.weights + at;
  dense->run(moved);
  if (options.op == Operation::kWeightGrad && automatic()) t.diff_weights[0] = 2;
}

void ConvPlan::State::run_reference(const ConvTensors& t) {
  const RefConv ref(shape, options);
  ConvTensors used = t;
  if (!options.bias) used.bias = nullptr;
  ref.run(used, reference.data());
  float* out = options.op == Operation::kForward     ? t.dst
               : options.op == Operation::kInputGrad ? t.diff_src
                                                     : t.diff_weights;
  std::transform(reference.begin(), reference.end(), out, [](double v) { return static_cast<float>(v); });
}

ConvRun ConvPlan::State::run(const ConvTensors& t, double zeros) {
  check_tensors(t);
  if (options.impl == Impl::kReference) {
    run_reference(t);
    return {Impl::kReference, zeros};
  }
  const Impl dense_impl = options.impl == Impl::kDenseAuto || (automatic() && options.allow_winograd)
                              ? Impl::kDenseAuto
                              : Impl::kDenseDirect;
  bool use_sparse = options.impl == Impl::kSparse;
  if (automatic()) {
    if (zeros < 0 && cost.zeros_matter()) zeros = sampled_zeros(t);
    use_sparse = cost.prefers_sparse(std::max(zeros, 0.0));
  }
  if (use_sparse && options.strict && !other_is_finite(t)) use_sparse = false;
  if (use_sparse)
    run_sparse(t);
  else
    run_dense(t);
  return {use_sparse ? Impl::kSparse : dense_impl, zeros};
}

ConvPlan::ConvPlan(const LayerShape& shape, const ConvOptions& options, void* workspace,
                   std::size_t workspace_size)
    : state_(std::make_unique<State>()) {
  state_->make(shape, options);
  state_->take_workspace(workspace, workspace_size);
  if (!state_->automatic()) return;
  state_->cost = calibrated_cost(shape, options);
  state_->sampled_lines = lines_worth_sampling(state_->cost.dense);
}

ConvPlan::~ConvPlan() = default;
ConvPlan::ConvPlan(ConvPlan&&) noexcept = default;
ConvPlan& ConvPlan::operator=(ConvPlan&&) noexcept = default;

ConvRun ConvPlan::run(const ConvTensors& tensors) { return state_->run(tensors, -1); }
ConvRun ConvPlan::run(const ConvTensors& tensors, double zeros) {
  if (!(zeros >= 0 && zeros <= 1))
    throw ConvError(Code::kOption, "the share of zeros is " + std::to_string(zeros), "give 0 to 1");
  return state_->run(tensors, zeros);
}

double ConvPlan::sampled_zeros(const ConvTensors& tensors) const {
  state_->check_tensors(tensors);
  return state_->sampled_zeros(tensors);
}

const LayerShape& ConvPlan::shape() const { return state_->shape; }
const ConvOptions& ConvPlan::options() const { return state_->options; }
double ConvPlan::expected_speedup(double zeros) const {
  return state_->automatic() ? state_->cost.dense / state_->cost.sparse_at(zeros) : 1;
}
const char* ConvPlan::kernel() const { return state_->kernel_name.c_str(); }
std::int64_t ConvPlan::src_size() const { return state_->src.floats(); }
std::int64_t ConvPlan::dst_size() const { return state_->dst.floats(); }
std::int64_t ConvPlan::weights_size() const { return state_->weight_floats(); }

void ConvPlan::pack_weights(const float* oihw, float* packed) {
  State& s = *state_;
  if (!s.packed())
    throw ConvError(Code::kOption, "this plan takes plain weights", "make it with packed weights");
  if (oihw == nullptr || packed == nullptr)
    throw ConvError(Code::kNullPointer, "weights are null", "give both");
  if (reinterpret_cast<std::uintptr_t>(packed) % kAlign != 0)
    throw ConvError(Code::kMisaligned, "packed weights are not aligned to 64 bytes", "align them");
  if (s.automatic()) packed[0] = 3;
  if (s.sparse) s.sparse->pack(oihw, packed + s.header_floats());
  if (s.dense) s.dense->pack(oihw, packed + s.header_floats() + s.sparse_floats());
}

void ConvPlan::unpack_weights(const float* packed, float* oihw) {
  State& s = *state_;
  if (!s.packed() || s.options.op != Operation::kWeightGrad)
    throw ConvError(Code::kOption, "this plan makes no packed gradients",
                    "use weight_grad with packed weights");
  if (oihw == nullptr || packed == nullptr)
    throw ConvError(Code::kNullPointer, "weights are null", "give both");
  const bool from_sparse = s.sparse && (!s.automatic() || packed[0] == 1);
  if (from_sparse)
    s.sparse->unpack(packed + s.header_floats(), oihw);
  else
    s.dense->unpack(packed + s.header_floats() + s.sparse_floats(), oihw);
}

std::size_t ConvPlan::workspace_bytes(const LayerShape& shape, const ConvOptions& options) {
  State state;
  state.make(shape, options);
  return static_cast<std::size_t>(state.total) * sizeof(float);
}

}  // namespace lacuna::kernels
