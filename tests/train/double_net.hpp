// A plain twin of the training engine: runs a train::Graph forward in double precision with simple loops. It
// shares only the description of the graph with the engine. Derivatives come from differences of its loss.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/graph/graph.hpp"

namespace lacuna::train::twin {

using Doubles = std::vector<double>;
using Named = std::map<std::string, Doubles>;

struct Batch {
  std::int64_t n = 1;
  Doubles images;  // n x c x h x w
  std::vector<std::int32_t> labels;
  bool training = true;  // batch norm: by the batch's statistics, else by the running ones
  // By a ReLU's name: 1 for values that pass and 0 for others, whatever their sign. A ReLU that is not here
  // decides itself. In deep networks a few of a million values fall on the other side in single precision;
  // with its decisions the twin differentiates the same function.
  Named passed;
  Named dropout;  // factors of a dropout layer's values by its name; a layer that is not here does nothing
};

struct Outcome {
  double loss = 0;
  std::vector<std::shared_ptr<const Doubles>> outputs;  // by node, n x c x h x w
  // By node: which values a ReLU let through, which position a max pool took. Between two runs with the same
  // decisions the loss is smooth.
  std::vector<std::uint64_t> decisions;
  // By node: the smallest distance of a value from another decision, in units of the largest value of the
  // tensor; exact ties do not count. Single precision decides the same where this is well above its rounding
  // errors.
  Doubles margins;
  // The largest value of a channel divided by its deviation, the largest such ratio of any batch norm: the
  // factor by which it amplifies the rounding errors of its input.
  double amplification = 0;
  Named running;  // "NAME.running_mean", "NAME.running_var" after this batch

  const Doubles& output(int node) const { return *outputs[static_cast<std::size_t>(node)]; }
  double margin() const;
};

class DoubleNet {
 public:
  explicit DoubleNet(Graph graph) : graph_(std::move(graph)) {}

  // By the engine's names: "conv1.weight", "bn.running_mean", "scale.scale".
  Named parameters;

  Outcome run(const Batch& batch) const { return run(batch, nullptr, 0, nullptr); }
  // As `base`, but `node` is recomputed (a parameter has changed), with `added` (or null) on top of its
  // output. Only what depends on it is computed again.
  Outcome rerun(const Batch& batch, const Outcome& base, int node, const Doubles* added) const {
    return run(batch, &base, node, added);
  }

 private:
  Outcome run(const Batch& batch, const Outcome* base, int changed, const Doubles* added) const;
  Doubles evaluate(const Node& node, const Batch& batch, Outcome& outcome) const;
  Doubles conv(const Node& node, const Doubles& in, std::int64_t n) const;
  Doubles linear(const Node& node, const Doubles& in, std::int64_t n) const;
  Doubles batch_norm(const Node& node, const Doubles& in, const Batch& batch, Outcome& outcome) const;
  Doubles pool(const Node& node, const Doubles& in, std::int64_t n, Outcome& outcome) const;
  Doubles concat(const Node& node, std::int64_t n, const Outcome& outcome) const;
  const SampleShape& in_shape(const Node& node) const {
    return graph_.nodes[static_cast<std::size_t>(node.inputs[0])].out;
  }

  Graph graph_;
};

// Mean over the images of -log softmax at the label.
double cross_entropy(const Doubles& logits, const std::vector<std::int32_t>& labels);

}  // namespace lacuna::train::twin
