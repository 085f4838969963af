// A layer of a model file that is not a structure of others: from its word and options to a node.
#pragma once

#include <string>
#include <vector>

#include "train/graph/graph.hpp"
#include "train/graph/model_text.hpp"

namespace lacuna::train {

// The place of a layer in a model file.
struct LayerPlace {
  const ModelText& text;
  const YAML::Node& at;  // for errors
  const Scope& scope;
  SampleShape in;
  std::int64_t image_height = 0;  // of the network's input
};

inline constexpr std::int64_t kLargestSize = 1 << 20;  // of any one number

// Returns the words of these layers, without those of structures.
std::vector<std::string> simple_layer_words();
// Returns a node with its shape, without inputs and name; `word` is one of the above. Throws InputError.
Node read_simple_layer(const LayerPlace& place, const std::string& word, const YAML::Node& options);

}  // namespace lacuna::train
