// Nodes of a graph that run as one layer, and those that share memory: each pass over a large tensor that is
// avoided saves time.
//
//   conv -> [relu]               the convolution writes max(y, 0); its gradient is masked in place
//   batch norm -> [add] -> [relu]     one layer: the norm adds the other part of the sum and cuts off in the
//                                pass that writes
//   relu -> max pool             the gradient of the pool is that of the ReLU's input
//
// Only the last of such nodes has a separate output.
#pragma once

#include <vector>

#include "train/graph/graph.hpp"

namespace lacuna::train {

// By node. 0 stands for "none": node 0 is the images.
struct Fusion {
  std::vector<int> readers;      // how many nodes read it
  std::vector<int> relu;         // the ReLU that runs in place on it
  std::vector<int> norm;         // of a sum: the batch norm whose layer computes it
  std::vector<int> pooled_by;    // of a ReLU that runs in place: the max pool that masks its gradient
  std::vector<int> output_of;    // whose memory its output is in
  std::vector<int> gradient_of;  // whose memory its gradient is in

  bool own_output(int node) const { return output_of[static_cast<std::size_t>(node)] == node; }
  bool own_gradient(int node) const {
    return node != 0 && gradient_of[static_cast<std::size_t>(node)] == node;
  }
  // Returns how many nodes read the output that ends up in this node's memory.
  int readers_of_output(int node) const;
  // Returns true for a batch norm that a sum computes.
  bool part_of_sum(const Graph& graph, int node) const;
};

Fusion fuse(const Graph& graph);

// Max pools that src/train/passes knows.
bool small_window(const Node& pool);

}  // namespace lacuna::train
