// The public face of a plan.
#include "kernels/conv.hpp"
#include "kernels/plan/plan_state.hpp"

namespace lacuna::kernels {
namespace {

using Code = ConvError::Code;
}  // namespace

ConvPlan::ConvPlan(const LayerShape& shape, const ConvOptions& options, void* workspace,
                   std::size_t workspace_size)
    : state_(std::make_unique<State>(shape, options)) {
  if (!options.borrow_workspace) state_->workspace.use(workspace, workspace_size);
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

void ConvPlan::use_weights(const float* oihw) {
  if (!state_->kept_only())
    throw ConvError(Code::kOption, "this plan takes its weights in run()",
                    "use weight_grad that checks weights");
  if (oihw == nullptr) throw ConvError(Code::kNullPointer, "weights are null", "give them");
  state_->take_weights(oihw);
}

void ConvPlan::use_pattern(const std::uint8_t* kept) {
  State& s = *state_;
  if (s.packed() || (s.checked != Operand::kW && !s.options.or_weights))
    throw ConvError(Code::kOption, "this plan looks for zero weights in pack_weights() or not at all",
                    "make it with plain weights and or_weights");
  s.take_pattern(kept);
}

double ConvPlan::sampled_zeros(const ConvTensors& tensors) const {
  state_->check(tensors);
  return state_->sampled_zeros(tensors);
}

const LayerShape& ConvPlan::shape() const { return state_->shape; }
const ConvOptions& ConvPlan::options() const { return state_->options; }
double ConvPlan::expected_speedup(double zeros) const {
  return state_->chooses() ? state_->cost.dense / state_->cost.sparse_at(zeros) : 1;
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
  if (reinterpret_cast<std::uintptr_t>(packed) % kVectorBytes != 0)
    throw ConvError(Code::kMisaligned, "packed weights are not aligned to 64 bytes", "align them");
  s.pack(oihw, packed);
}

void ConvPlan::unpack_weights(const float* packed, float* oihw) {
  State& s = *state_;
  if (!s.packed() || !s.weight_grad())
    throw ConvError(Code::kOption, "this plan computes no packed gradients",
                    "use weight_grad with packed weights");
  if (oihw == nullptr || packed == nullptr)
    throw ConvError(Code::kNullPointer, "weights are null", "give both");
  s.unpack(packed, oihw);
}

std::size_t ConvPlan::workspace_bytes() const { return state_->workspace.bytes(); }
std::size_t ConvPlan::workspace_bytes(const LayerShape& shape, const ConvOptions& options) {
  return State(shape, options).workspace.bytes();
}

}  // namespace lacuna::kernels
