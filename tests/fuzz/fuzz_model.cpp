// Text as a model in YAML. What is accepted has shapes that fit; what is small is built, and takes a step.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "time_limit.hpp"
#include "train/graph/model_file.hpp"
#include "train/layers/network.hpp"

namespace {

using namespace lacuna::train;

// Building takes a thousand times as long as parsing.
bool small(const Graph& graph) {
  std::int64_t elements = graph.parameters();
  for (const Node& node : graph.nodes) {
    if (node.out.size() > 1 << 14) return false;
    elements += node.out.size();
  }
  return graph.nodes.size() <= 16 && elements <= 1 << 15 && graph.macs() <= 1 << 20;
}

void take_step(Graph graph) {
  Network network(std::move(graph), {2, Kernels::kSparse, 1});
  network.initialize(1);
  const std::vector<float> images(static_cast<std::size_t>(2 * network.graph().input.size()), 0.5F);
  const std::vector<std::int32_t> labels = {0, 1};
  network.forward(images.data(), labels.data(), {true, 1});
  network.backward();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const lacuna::TimeLimit time;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    Graph graph = parse_model(text, "fuzz", {});
    for (const Node& node : graph.nodes)
      if (node.kind == NodeKind::kConv || node.kind == NodeKind::kLinear)
        graph.layer_shape(node, 4).validate("fuzz");
    if (small(graph)) take_step(std::move(graph));
  } catch (const lacuna::InputError&) {
  }
  return 0;
}
