// A layer of a model file that is not a structure of others: from its word and options to a node.
#pragma once

#include <string>
#include <vector>

#include "train/graph/graph.hpp"
#include "train/graph/model_text.hpp"

namespace lacuna::train {

// A layer in a model file: its place and options.
struct LayerText {
  const ModelText& text;
  const YAML::Node& at;  // for errors
  const YAML::Node& options;
  const Scope& scope;
  SampleShape in;
  std::int64_t image_height = 0;  // of the network's input

  // Reads the option `key` if it is given, within its limits.
  template <typename Value, typename... Limits>
  bool read(const char* key, Value& to, Limits... limits) const {
    const YAML::Node given = options[key];
    if (given) text.read(given, key, scope, to, limits...);
    return static_cast<bool>(given);
  }
};

// Returns the words of these layers, without those of structures.
std::vector<std::string> simple_layer_words();
// Returns a node with its shape, without inputs and name; `word` is one of the above. Throws InputError.
Node read_simple_layer(const LayerText& layer, const std::string& word);

}  // namespace lacuna::train
