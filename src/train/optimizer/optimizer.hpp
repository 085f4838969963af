// Optimizers: from the gradients of a step to new parameters. A new one is a file with its class, a function
// that makes it, declared here, and its line in kOptimizers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/layers/layer.hpp"

namespace lacuna::train {

struct OptimizerOptions {
  double momentum = 0.9;                          // sgd
  double weight_decay = 5e-4;                     // of every learnt parameter
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adamw
  std::size_t kind = 0;                           // place in kOptimizers
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates the learnt parameters; `step` counts from 0.
  virtual void step(double rate, std::int64_t step) = 0;

  // Share of the first state, a mean of past gradients, that a step leaves.
  virtual double mean_decay() const = 0;

  const OptimizerOptions& options() const { return options_; }
  int threads() const { return threads_; }
  const std::vector<Parameter*>& learnt() const { return learnt_; }

  // Tensors of the sizes of the learnt parameters, in the order of learnt(): part of a checkpoint, under
  // "NAME/PARAMETER".
  struct State {
    std::string name;
    std::vector<AlignedFloats> tensors;
  };
  std::vector<State>& states() { return states_; }
  // Returns the first state: a mean of past gradients, which pruning uses.
  std::vector<AlignedFloats>& momenta() { return states_.front().tensors; }

 protected:
  Optimizer(const std::vector<Parameter*>& parameters, const OptimizerOptions& options, int threads,
            const std::vector<std::string>& states);

  // Calls update(parameter, begin, count, rate) for all parameters in pieces of about one size, so that
  // threads share them whatever the layers are. `parameter` is a place in learnt(), `rate` its own.
  void for_each_piece(double rate, const std::function<void(std::size_t parameter, std::int64_t begin,
                                                            std::int64_t count, float rate)>& update) const;

 private:
  struct Piece {
    std::size_t parameter;
    std::int64_t begin, count;
  };
  OptimizerOptions options_;
  int threads_;
  std::vector<Parameter*> learnt_;
  std::vector<Piece> pieces_;
  std::vector<State> states_;
};

using MakeOptimizer = std::unique_ptr<Optimizer> (*)(const std::vector<Parameter*>& parameters,
                                                     const OptimizerOptions& options, int threads);
std::unique_ptr<Optimizer> make_sgd(const std::vector<Parameter*>& parameters,
                                    const OptimizerOptions& options, int threads);
std::unique_ptr<Optimizer> make_adamw(const std::vector<Parameter*>& parameters,
                                      const OptimizerOptions& options, int threads);

struct OptimizerKind {
  const char* name;
  MakeOptimizer make;
  int states;  // tensors that it keeps per parameter
  // Defaults of --lr and --weight-decay.
  double rate;
  double weight_decay;
};
inline constexpr std::array kOptimizers = {OptimizerKind{"sgd", make_sgd, 1, 0.02, 5e-4},
                                           OptimizerKind{"adamw", make_adamw, 2, 1e-3, 1e-2}};

// Returns the names in kOptimizers.
const std::vector<const char*>& optimizer_names();

}  // namespace lacuna::train
