// Share of the training's work that is on zeros: what skipping the zeros of one operand could give at best,
// with a machine that loses nothing [TensorDash §2, Fig. 1].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload/mac_counts.hpp"
#include "sim/workload/schedule_policy.hpp"
#include "trace/format/trace_storage.hpp"

namespace lacuna {

// MACs of one operation, or of several together.
struct Potential {
  double macs = 0;       // of the dense convolution
  double remaining = 0;  // whose targeted operand is not zero
  double effectual = 0;  // both operands are not zero
  double needed = 0;     // of those remaining: whose result is needed

  // All MACs / remaining MACs [Fig. 1]; nothing if no MAC remains.
  std::optional<double> speedup() const;
  // The same if results that nobody needs are left out as well.
  std::optional<double> needed_speedup() const;
  Potential& add(const Potential& other, double scale);
};

struct OpPotential {
  Operation op = Operation::kForward;
  Operand targeted = Operand::kA;
  Potential macs;
};

// A layer's description and counts, without its tensors.
struct LayerPotential {
  std::string name;
  LayerShape shape;
  std::int64_t steps = 1;
  PerOperand<double> zero_shares{};
  std::optional<double> a_forward_zeros = std::nullopt;
  double batch_scale = 1;
  std::vector<OpPotential> ops;  // those of Trace::runs()

  // Returns the zeros of A for A_forward if the layer has none.
  double zero_share(TraceTensor which) const {
    return which.forward && a_forward_zeros ? *a_forward_zeros : zero_shares[which.operand];
  }
};

struct PotentialTotals {
  PerOperation<Potential> ops;
  Potential all;
};

struct TracePotential {
  std::vector<LayerPotential> layers;
  PotentialTotals recorded;
  PotentialTotals per_batch;  // each layer scaled to the batch trained with

  // The share of zeros of a tensor over the network, each layer weighted by its MACs in a batch.
  double zero_share(TraceTensor which) const;
  bool has_a_forward() const;  // in any layer
  bool has_unneeded() const;   // results, in any layer
};

TracePotential trace_potential(const Trace& trace, SchedulePolicy policy = OperandRule::kSparser);

}  // namespace lacuna
