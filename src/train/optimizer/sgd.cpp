// Stochastic gradient descent with momentum.
#include "train/optimizer/optimizer.hpp"
#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

// v = momentum * v + (gradient + weight_decay * w);  w -= rate * v: PyTorch's form, which keeps the rate out
// of v.
class Sgd final : public Optimizer {
 public:
  Sgd(const std::vector<Parameter*>& parameters, const OptimizerOptions& options, int threads)
      : Optimizer(parameters, options, threads, {"momentum"}) {}

  void step(double rate, std::int64_t /*step*/) override {
    const auto momentum = static_cast<float>(options().momentum);
    const auto decay = static_cast<float>(options().weight_decay);
    const Passes& run = passes();
    for_each_piece(rate, [&](std::size_t p, std::int64_t begin, std::int64_t count, float own_rate) {
      Parameter& parameter = *learnt()[p];
      run.sgd(parameter.value.data() + begin, momenta()[p].data() + begin, parameter.grad.data() + begin,
              count, own_rate, momentum, decay);
    });
  }

  double mean_decay() const override { return options().momentum; }
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const std::vector<Parameter*>& parameters,
                                    const OptimizerOptions& options, int threads) {
  return std::make_unique<Sgd>(parameters, options, threads);
}

}  // namespace lacuna::train
