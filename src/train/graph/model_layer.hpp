// One layer of a model file that is no structure of others: from its word and options to a node.
#pragma once

#include <string>
#include <vector>

#include "train/graph/graph.hpp"
#include "train/graph/model_text.hpp"

namespace lacuna::train {

// Where a layer stands.
struct LayerPlace {
  const ModelText& text;
  const YAML::Node& at;  // for errors
  const Scope& scope;
  SampleShape in;
  std::int64_t image_height = 0;  // of the network's input
};

inline constexpr std::int64_t kLargestSize = 1 << 20;  // of any one number

// The words of these layers, structures not among them.
const std::vector<std::string>& simple_layer_words();
// A node with its shape and without inputs and name; `word` is one of the above. Throws InputError.
Node read_simple_layer(const LayerPlace& place, const std::string& word, const YAML::Node& options);

}  // namespace lacuna::train
