// The reader of a model file: its parameters, its blocks and its structures of layers.
#pragma once

#include <map>
#include <set>
#include <string>

#include "train/graph/model_file.hpp"
#include "train/graph/model_text.hpp"

namespace lacuna::train {

class ModelReader {
 public:
  ModelReader(const std::string& file, const YAML::Node& root) : text_(file), root_(root) {}

  ModelSummary summary();
  // Once. Throws InputError.
  Graph read(const ModelSettings& settings);

 private:
  using Values = std::map<std::string, std::string>;

  void check_top() const;
  Values defaults() const;
  // The defaults with `settings` in their places.
  Values parameters(const ModelSettings& settings) const;
  void read_blocks();

  // Each takes the node that comes before and returns the last one it has added.
  int read_layers(const YAML::Node& list, int input, const Scope& scope);
  int read_layer(const YAML::Node& entry, int input, const Scope& scope);
  int add_layer(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                const Scope& scope);
  int add_simple(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                 const Scope& scope);
  int add_global_pool(const YAML::Node& at, int input, const Scope& scope);
  int read_concat(const YAML::Node& at, const YAML::Node& branches, int input, const Scope& scope);
  int read_residual(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope);
  int read_repeat(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope);
  int read_choose(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope);
  int read_block(const YAML::Node& at, const std::string& word, const YAML::Node& block,
                 const YAML::Node& options, int input, const Scope& scope);

  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  std::string name_of(const std::string& word, const YAML::Node& given, const Scope& scope);
  int push(const YAML::Node& at, Node made, std::string name);

  const ModelText text_;
  const YAML::Node root_;
  std::map<std::string, YAML::Node> blocks_;
  std::set<std::string> names_{"input"};
  Graph graph_;
  std::size_t lists_ = 0;
};

}  // namespace lacuna::train
