// Pruning while training: most weights are zero from the start, and which ones changes as the network learns.
// The two methods that TensorDash is evaluated with [TensorDash §4.1]:
//  - sparse momentum (SM) [Dettmers and Zettlemoyer 2019]: at fixed intervals each layer drops its smallest
//    weights, and as many grow where the momentum is largest, spread over the layers by their share of
//    momentum;
//  - dynamic sparse reparameterisation (DS) [Mostafa and Wang 2019]: weights below one threshold for the
//    whole network are dropped, the threshold is adjusted to drop the target number, and as many weights
//    grow at random places, spread over the layers by the number of weights they have kept.
// The number of weights that may be non-zero never changes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "train/optimizer/optimizer.hpp"

namespace lacuna::train {

struct PruningOptions {
  enum class Method { kNone, kSparseMomentum, kDynamicSparse };
  Method method = Method::kNone;
  double zeros = 0.9;  // of the weights of each pruned layer at the start, of all of them together later
  std::int64_t every = 100;  // steps between changes
  std::int64_t until = 0;    // the last step that changes anything; 0: no limit
  double move = 0.2;  // share of the non-zero weights that moves at each change, at the start (SM: it falls
                      // to zero with `until`; DS: what the threshold aims at)
  bool as_drawn = false;  // do not enlarge the initial weights
  // SM: steps before each change in which the gradients of zero weights are computed; 0: as many as their
  // momentum remembers to one percent.
  std::int64_t growth_steps = 0;
  std::uint64_t seed = 1;
};
inline constexpr std::array kPruningMethods = {"none", "sm", "ds"};

class Pruning {
 public:
  // Prunes the weights of all convolutions and linear layers but the first, as is usual: it is small, and
  // every pixel goes through it.
  Pruning(Optimizer& optimizer, const PruningOptions& options);
  ~Pruning();
  Pruning(const Pruning&) = delete;
  Pruning& operator=(const Pruning&) = delete;

  // Draws which weights may be non-zero, clears the others and, unless as_drawn, enlarges those that are left
  // so that the outputs of a layer keep their magnitude.
  void start();
  // Clears the weights that must be zero.
  void clear() const;
  // Returns whether this step needs the gradients of weights that are zero. SM: in the steps before each
  // change that its momentum remembers; DS grows at random and never does.
  bool needs_all_gradients(std::int64_t step) const;
  // Sets Parameter::kept, after layers() were read from a checkpoint.
  void publish();
  // Clears what must be zero and, when a change is due, moves weights. Call it after the optimizer's step
  // `step` (from 0). Throws InputError if a weight or momentum is NaN or infinite.
  void after_step(std::int64_t step);

  struct Layer {
    std::size_t parameter = 0;        // in the optimizer's learnt()
    std::vector<std::uint8_t> alive;  // one per element
    std::int64_t count = 0;           // how many are alive
  };
  // Part of a checkpoint, with threshold().
  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }
  double& threshold() { return threshold_; }
  std::int64_t alive() const;
  double zero_share() const;

 private:
  float* weights(const Layer& layer) const;
  float* momentum(const Layer& layer) const;
  void clear(const Layer& layer, bool momentum_too = false) const;
  bool due(std::int64_t step) const;
  void check_numbers() const;
  void move_by_momentum(std::int64_t step);
  void move_by_threshold(std::int64_t step);
  // Spreads `total` over layers by `share`, no layer beyond its free places; what full layers cannot take
  // goes to the others by their shares, what rounding leaves over to the first with room.
  std::vector<std::int64_t> spread(std::int64_t total, const std::vector<double>& share) const;

  Optimizer& optimizer_;
  PruningOptions options_;
  std::vector<Layer> layers_;
  double threshold_ = 1e-3;  // DS
  bool faded_ = false;  // zero weights have no momentum: without gradients a step leaves both as they are
};

}  // namespace lacuna::train
