#include "kernels/measure/plan_tensors.hpp"

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "kernels/layout/blocked.hpp"

namespace lacuna::kernels {
namespace {

// Values in NCHW order into the layout of the plan.
void place(const BlockedShape& shape, Layout layout, const std::vector<float>& nchw, AlignedFloats& to) {
  if (layout == Layout::kBlocked) {
    to_blocked(stored_shape(shape), Layout::kNchw, nchw.data(), to.data(), 1);
    return;
  }
  if (layout == Layout::kNchw) {
    std::copy(nchw.begin(), nchw.end(), to.data());
    return;
  }
  const std::int64_t channels = shape.groups * shape.channels;
  for (std::int64_t n = 0; n < shape.n; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t p = 0; p < shape.pixels(); ++p)
        to[(n * shape.pixels() + p) * channels + c] =
            nchw[static_cast<std::size_t>((n * channels + c) * shape.pixels() + p)];
}

float random_value(Random& random) {
  // Never zero: 0.05 .. 1, either sign.
  const auto value = static_cast<float>(0.05 + 0.95 * random.uniform());
  return (random.bits() & 1) != 0 ? value : -value;
}

}  // namespace

PlanTensors::PlanTensors(const ConvPlan& plan)
    : src(plan.src_size()),
      weights(plan.weights_size()),
      dst(plan.dst_size()),
      bias(plan.shape().k),
      needed(plan.options().takes_needed() ? plan.src_size() : 0),
      plain_weights(plan.shape().w_elements()),
      op_(plan.options().op) {}

void PlanTensors::fill(ConvPlan& plan, double zeros, std::uint64_t seed) {
  Random random(seed * 77 + 5);
  const auto draw = [&](std::int64_t, std::int64_t, std::int64_t) { return !random.chance(zeros); };
  fill(plan, plan.options().checked_operand() == Operand::kW ? Nonzero{{}, draw} : Nonzero{draw, {}}, seed);
}

void PlanTensors::fill(ConvPlan& plan, const Nonzero& nonzero, std::uint64_t seed) {
  Random random(seed);
  const ConvOptions& options = plan.options();
  auto draw = [&](const BlockedShape& s, Layout layout, Operand operand, AlignedFloats& to) {
    const bool checked = operand == options.checked_operand() && nonzero.data;
    const std::int64_t channels = s.groups * s.channels;
    std::vector<float> nchw(static_cast<std::size_t>(s.plain_floats()));
    std::size_t i = 0;
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t p = 0; p < s.pixels(); ++p, ++i) {
          const float value = random_value(random);
          nchw[i] = !checked || nonzero.data(n, c, p) ? value : 0.0F;
        }
    place(s, layout, nchw, to);
  };
  const LayerShape& shape = plan.shape();
  if (op_ != Operation::kInputGrad || options.takes_needed())
    draw(blocked_src(shape), options.layout_of_src(), Operand::kA,
         op_ == Operation::kInputGrad ? needed : src);
  if (op_ != Operation::kForward) draw(blocked_dst(shape), options.layout_of_dst(), Operand::kG, dst);
  std::int64_t i = 0;
  for (std::int64_t k = 0; k < shape.k; ++k)
    for (std::int64_t c = 0; c < shape.c_per_group(); ++c)
      for (std::int64_t tap = 0; tap < shape.taps(); ++tap, ++i) {
        const float value = 0.1F * random_value(random);
        plain_weights[i] = !nonzero.weight || nonzero.weight(k, c, tap) ? value : 0.0F;
      }
  for (std::int64_t b = 0; b < bias.size(); ++b) bias[b] = random_value(random);
  give_weights(plan, weights);
}

void PlanTensors::give_weights(ConvPlan& plan, AlignedFloats& packed) {
  if (op_ == Operation::kWeightGrad) {
    if (plan.options().checked == Operand::kW || plan.options().or_weights)
      plan.use_weights(plain_weights.data());
  } else if (plan.options().weights == WeightLayout::kPacked) {
    plan.pack_weights(plain_weights.data(), packed.data());
  } else {
    std::copy(plain_weights.data(), plain_weights.data() + plain_weights.size(), packed.data());
  }
}

void PlanTensors::fill_quickly(ConvPlan& plan, double zeros, std::uint64_t seed, bool checked_only) {
  const int threads = plan.options().threads;
  const Operand checked_operand = plan.options().checked_operand();
  // Runs of 16 floats: blocks of channels, or anything in a plain layout. Channels past the last stay zero.
  const auto draw = [&](const BlockedShape& of, Layout layout, double share, AlignedFloats& to) {
    const BlockedShape s = stored_shape(of);
    const bool blocked = layout == Layout::kBlocked;
    const std::int64_t runs = to.size() / kLanes;
    const auto limit = static_cast<std::uint32_t>(share * 65536);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t run = 0; run < runs; ++run) {
      const std::int64_t block = blocked ? run / s.pixels() % (s.groups * s.blocks()) % s.blocks() : 0;
      const std::int64_t used =
          blocked ? std::min<std::int64_t>(kLanes, s.channels - block * kLanes) : kLanes;
      Random random(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(run));
      for (std::int64_t i = 0; i < kLanes; i += 4) {
        std::uint64_t bits = random.bits();
        for (std::int64_t lane = i; lane < i + 4; ++lane, bits >>= 16) {
          const auto drawn = static_cast<std::uint32_t>(bits & 0xffff);
          const float value = 0.1F + static_cast<float>(drawn) * (1.0F / 65536);
          to[run * kLanes + lane] = lane < used && drawn >= limit ? value : 0.0F;
        }
      }
    }
  };
  const bool activations = checked_operand == Operand::kA;
  const bool gradients = checked_operand == Operand::kG;
  if ((op_ != Operation::kInputGrad || plan.options().takes_needed()) && (activations || !checked_only))
    draw(blocked_src(plan.shape()), plan.options().layout_of_src(), activations ? zeros : 0,
         op_ == Operation::kInputGrad ? needed : src);
  if (op_ != Operation::kForward && (gradients || !checked_only))
    draw(blocked_dst(plan.shape()), plan.options().layout_of_dst(), gradients ? zeros : 0, dst);
  if ((op_ == Operation::kWeightGrad || checked_only) && checked_operand != Operand::kW) return;
  Random random(seed);
  const double weight_zeros = checked_operand == Operand::kW ? zeros : 0;
  for (std::int64_t i = 0; i < plain_weights.size(); ++i) {
    const auto drawn = static_cast<std::uint32_t>(random.bits() & 0xffff);
    const float value = 0.01F + 1e-6F * static_cast<float>(drawn);
    plain_weights[i] = static_cast<double>(drawn) < weight_zeros * 65536 ? 0.0F : value;
  }
  give_weights(plan, weights);
}

AlignedFloats& PlanTensors::result() {
  return op_ == Operation::kForward ? dst : op_ == Operation::kInputGrad ? src : weights;
}

AlignedFloats& PlanTensors::checked(const ConvOptions& options) {
  if (options.checked_operand() != Operand::kA) return dst;
  return op_ == Operation::kInputGrad ? needed : src;
}

ConvTensors PlanTensors::tensors() { return tensors(weights); }

ConvTensors PlanTensors::tensors(AlignedFloats& packed) {
  ConvTensors t;
  if (op_ != Operation::kInputGrad) t.src = src.data();
  if (needed.size() > 0) t.src = needed.data();
  if (op_ != Operation::kForward) t.diff_dst = dst.data();
  if (op_ != Operation::kWeightGrad) t.weights = packed.data();
  if (op_ == Operation::kForward) t.bias = bias.data();
  (op_ == Operation::kForward     ? t.dst
   : op_ == Operation::kInputGrad ? t.diff_src
                                  : t.diff_weights) =
      (op_ == Operation::kWeightGrad ? packed : result()).data();
  return t;
}

}  // namespace lacuna::kernels
