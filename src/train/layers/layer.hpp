// A layer of the engine: runs forward and backward on activations that the network owns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/layers/activation.hpp"

namespace lacuna::train {

// A tensor that a checkpoint holds: a learnt one, or one that is kept along with them (running means).
struct Parameter {
  enum class Kind {
    kWeights,  // of a convolution or a linear layer: what pruning may touch
    kBias,
    kNorm,    // scale and shift of batch norm
    kScalar,  // one number [Fixup]; learns at a tenth of the rate, as in its paper
    kBuffer,  // not learnt, but part of the network
    kState,   // of the training, not of the network
  };
  std::string name;  // "conv1.weight"
  Kind kind = Kind::kWeights;
  std::vector<std::int64_t> dims;
  AlignedFloats value;
  AlignedFloats grad;  // empty unless it is learnt
  // Places where pruning keeps weights: one byte per value; null without pruning. `pattern` changes with the
  // set of places.
  struct Kept {
    const std::uint8_t* places = nullptr;
    std::uint64_t pattern = 0;
  } kept;

  Parameter(std::string name, Kind kind, std::vector<std::int64_t> dims);
  bool learnt() const { return kind != Kind::kBuffer && kind != Kind::kState; }
};

// Facts about the current step that layers need.
struct Pass {
  bool training = true;
  std::uint64_t seed = 0;    // of this run and step; what a layer draws comes from it
  double reuse_density = 1;  // share of the differences that ReSprop keeps; 1: gradients as they are
  // Version of the values of all weights; 0: unknown. Weights are repacked only when it changes.
  std::uint64_t weights_version = 0;
  bool all_gradients = true;  // false: of pruned weights none are needed, and they are zero
};

class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const Pass& pass) = 0;
  // Propagates the gradient of the output, which is complete: leaves the gradients of the parameters in
  // Parameter::grad (not added up) and those of the inputs in `sum`.
  virtual void backward(GradientSum& sum) = 0;
  virtual std::vector<Parameter*> parameters() { return {}; }
};

// A layer of one input whose gradient follows from that of the output alone.
class OneInputLayer : public Layer {
 public:
  void backward(GradientSum& sum) override;

 protected:
  OneInputLayer(Activation& in, Activation& out, int threads) : in_(in), out_(out), threads_(threads) {}
  virtual void input_gradient(float* diff_src) = 0;

  Activation& in_;
  Activation& out_;
  int threads_;
};

}  // namespace lacuna::train
