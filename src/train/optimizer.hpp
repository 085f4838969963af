// Stochastic gradient descent with momentum, and how its rate changes over the training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/layers/layer.hpp"

namespace lacuna::train {

struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 5e-4;  // of every learnt parameter
};

// v = momentum * v + (gradient + weight_decay * w);  w -= rate * v: PyTorch's form, which keeps the rate out
// of v.
class Sgd {
 public:
  Sgd(const std::vector<Parameter*>& parameters, const SgdOptions& options, int threads);
  void step(double rate);
  const SgdOptions& options() const { return options_; }
  int threads() const { return threads_; }

  // Part of a checkpoint; in the order of learnt().
  const std::vector<Parameter*>& learnt() const { return learnt_; }
  std::vector<AlignedFloats>& momenta() { return momenta_; }

 private:
  SgdOptions options_;
  int threads_;
  std::vector<Parameter*> learnt_;
  std::vector<AlignedFloats> momenta_;
  // All parameters in pieces of about one size, so that threads share them whatever the layers are.
  struct Piece {
    std::size_t parameter;  // in learnt_
    std::int64_t begin, count;
  };
  std::vector<Piece> pieces_;
};

struct RateSchedule {
  enum class Kind {
    kConstant,
    kCosine,  // half a cosine from `rate` to zero
    kStep,    // a tenth at a half and again at three quarters of the training
  };
  Kind kind = Kind::kCosine;
  double rate = 0.05;
  std::int64_t warmup = 0;  // steps of linear growth of the rate from zero
  std::int64_t steps = 1;   // of the whole training

  double at(std::int64_t step) const;
};
// "constant", "cosine", "step". Throws InputError.
RateSchedule::Kind parse_schedule(const std::string& name);

}  // namespace lacuna::train
