// AdamW: Adam with decoupled weight decay [Loshchilov and Hutter 2019, "Decoupled weight decay
// regularization"].
#include <cmath>

#include "train/optimizer/optimizer.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

// PyTorch's form: the decay is multiplied by the learning rate, and eps is added to the corrected root.
class Adamw final : public Optimizer {
 public:
  Adamw(const std::vector<Parameter*>& parameters, const OptimizerOptions& options, int threads)
      : Optimizer(parameters, options, threads, {"momentum", "optimizer/square"}) {}

  void step(double rate, std::int64_t step) override {
    const OptimizerOptions& o = options();
    const auto steps = static_cast<double>(step + 1);
    const double mean_so_far = 1 - std::pow(o.beta1, steps), square_so_far = 1 - std::pow(o.beta2, steps);
    const Passes& run = passes();
    std::vector<AlignedFloats>& squares = states()[1].tensors;
    for_each_piece(rate, [&](std::size_t p, std::int64_t begin, std::int64_t count, float own_rate) {
      Parameter& parameter = *learnt()[p];
      run.adamw({.value = parameter.value.data() + begin,
                 .mean = momenta()[p].data() + begin,
                 .square = squares[p].data() + begin,
                 .gradient = parameter.grad.data() + begin,
                 .count = count,
                 .one_minus_beta1 = static_cast<float>(1 - o.beta1),
                 .one_minus_beta2 = static_cast<float>(1 - o.beta2),
                 .kept = static_cast<float>(1 - static_cast<double>(own_rate) * o.weight_decay),
                 .rate = static_cast<float>(static_cast<double>(own_rate) / mean_so_far),
                 .by_root = static_cast<float>(1 / std::sqrt(square_so_far)),
                 .eps = static_cast<float>(o.eps)});
    });
  }

  double mean_decay() const override { return options().beta1; }
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const std::vector<Parameter*>& parameters,
                                      const OptimizerOptions& options, int threads) {
  return std::make_unique<Adamw>(parameters, options, threads);
}

}  // namespace lacuna::train
