#include "train/graph/fuse.hpp"

#include <algorithm>

#include "train/passes/passes.hpp"

namespace lacuna::train {
namespace {

std::size_t at(int node) { return static_cast<std::size_t>(node); }

class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : nodes_(graph.nodes), last_reader_(nodes_.size(), 0), kept_(nodes_.size(), false) {
    for (std::vector<int>* all :
         {&made_.readers, &made_.relu, &made_.norm, &made_.pooled_by, &made_.output_of, &made_.gradient_of})
      all->assign(nodes_.size(), 0);
  }

  Fusion run() {
    for (int i = 0; i < count(); ++i)
      for (const int input : nodes_[at(i)].inputs) {
        ++made_.readers[at(input)];
        last_reader_[at(input)] = i;
      }
    for (int i = 1; i < count(); ++i) {
      fuse_relu(i);
      fuse_sum(i);
      fuse_pool(i);
    }
    share_outputs();
    share_gradients();
    return std::move(made_);
  }

 private:
  int count() const { return static_cast<int>(nodes_.size()); }
  bool is(int node, NodeKind kind) const { return nodes_[at(node)].kind == kind; }

  // A ReLU that is the only reader of its input runs in place. No layer that it may follow needs its own
  // output for its gradient: a max pool keeps positions, dropout its factors, and a second ReLU changes
  // nothing.
  void fuse_relu(int node) {
    if (!is(node, NodeKind::kRelu)) return;
    const int input = nodes_[at(node)].inputs[0];
    if (input != 0 && !is(input, NodeKind::kRelu) && made_.readers[at(input)] == 1)
      made_.relu[at(input)] = node;
  }

  // The later of two norms adds: the other has been computed by then.
  void fuse_sum(int node) {
    if (!is(node, NodeKind::kAdd)) return;
    const std::vector<int>& parts = nodes_[at(node)].inputs;
    if (parts[0] == parts[1]) return;
    for (const int part : parts)
      if (is(part, NodeKind::kBatchNorm) && made_.readers[at(part)] == 1)
        made_.norm[at(node)] = std::max(made_.norm[at(node)], part);
  }

  void fuse_pool(int node) {
    if (!is(node, NodeKind::kMaxPool) || !small_window(nodes_[at(node)])) return;
    const int input = nodes_[at(node)].inputs[0];
    if (is(input, NodeKind::kRelu) && made_.readers[at(input)] == 1 &&
        made_.relu[at(nodes_[at(input)].inputs[0])] == input)
      made_.pooled_by[at(input)] = node;
  }

  void share_outputs() {
    for (int i = 0; i < count(); ++i) made_.output_of[at(i)] = i;
    for (int i = 0; i < count(); ++i)
      if (made_.norm[at(i)] != 0) made_.output_of[at(made_.norm[at(i)])] = i;
    for (int i = 0; i < count(); ++i)
      if (made_.relu[at(i)] != 0) made_.output_of[at(made_.relu[at(i)])] = made_.output_of[at(i)];
  }

  // Readers come after what they read, so this goes backwards: a node's own gradient has its place before
  // its inputs need theirs.
  void share_gradients() {
    std::vector<int>& place = made_.gradient_of;
    for (int i = count() - 1; i > 0; --i) {
      if (!made_.own_output(i)) continue;
      if (place[at(i)] == 0) place[at(i)] = i;
      for (const int input : nodes_[at(i)].inputs)
        if (input != 0 && input != made_.norm[at(i)] && may_share(i, input))
          place[at(made_.output_of[at(input)])] = place[at(i)];
      if (is(i, NodeKind::kAdd) && made_.norm[at(i)] == 0) kept_[at(place[at(i)])] = true;
    }
    for (int i = 1; i < count(); ++i) place[at(i)] = place[at(made_.output_of[at(i)])];
  }

  bool may_share(int node, int input) const {
    const int place = made_.gradient_of[at(node)];
    const bool only_reader = made_.readers[at(input)] == 1;
    // In place: nobody else reads the gradient of the norm's output.
    if (is(node, NodeKind::kBatchNorm)) return only_reader && place == node;
    const std::vector<int>& parts = nodes_[at(node)].inputs;
    if (!is(node, NodeKind::kAdd) || parts[0] == parts[1]) return false;
    // The gradient of a sum is the gradient of its parts. Of two parts that use it, none may change it.
    if (made_.norm[at(node)] == 0 || kept_[at(place)]) return only_reader && !is(input, NodeKind::kRelu);
    // A norm that computes the sum has its own gradient elsewhere, so the other part may mask the memory or
    // add to it what its other readers send, which run later. (A sum without readers leaves the gradient of
    // the previous step there.)
    return only_reader || (last_reader_[at(input)] == node && made_.readers_of_output(node) > 0);
  }

  const std::vector<Node>& nodes_;
  std::vector<int> last_reader_;
  std::vector<bool> kept_;  // by place: parts of a sum share this gradient and rely on it
  Fusion made_;
};

}  // namespace

int Fusion::readers_of_output(int node) const {
  const int last = relu[at(node)] != 0 ? relu[at(node)] : node;
  return readers[at(last)];
}

bool Fusion::part_of_sum(const Graph& graph, int node) const {
  return graph.nodes[at(node)].kind == NodeKind::kBatchNorm && output_of[at(node)] > node;
}

Fusion fuse(const Graph& graph) { return Fuser(graph).run(); }

bool small_window(const Node& pool) { return pool.kernel.h * pool.kernel.w <= MaxPoolPass::kPositions; }

}  // namespace lacuna::train
