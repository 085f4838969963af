#include "train/graph/model_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "train/graph/model_layer.hpp"

namespace lacuna::train {

std::span<const EmbeddedFile> embedded_models();  // cmake/LacunaEmbed.cmake

namespace {

constexpr YamlKind kKind{"a model", "see configs/models/vgg-small.yaml"};
constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostLists = 50'000;
constexpr int kDeepestBlocks = 16;
constexpr std::int64_t kMostRepeats = 1'000;
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 31;  // elements of a sample or of weights

std::vector<std::string> layer_words() {
  std::vector<std::string> words = simple_layer_words();
  words.insert(words.end(), {"concat", "residual", "repeat", "choose"});
  return words;
}

bool is_layer_word(const std::string& word) { return std::ranges::count(layer_words(), word) > 0; }

// The reader of a model file: its parameters, its blocks and its structures of layers.
class ModelReader {
 public:
  ModelReader(const std::string& file, const YAML::Node& root) : text_(file), root_(root) {}

  ModelSummary summary() {
    check_top();
    ModelSummary summary;
    summary.name = text_.plain(root_["model"], "model");
    if (root_["about"]) summary.about = text_.plain(root_["about"], "about");
    for (const auto& [key, value] : defaults()) summary.parameters.push_back({key, value});
    return summary;
  }

  // Once. Throws InputError.
  Graph read(const ModelSettings& settings) {
    check_top();
    graph_.model = text_.plain(root_["model"], "model");
    Values values = parameters(settings);
    read_blocks();
    std::map<std::string, int> counters;
    const Scope scope{values, "", &counters, 0};
    graph_.input = {text_.number_of(values["channels"], root_, "channels", 1, 4096),
                    text_.number_of(values["size"], root_, "size", 1, 1 << 14), 0};
    graph_.input.w = graph_.input.h;
    graph_.nodes.push_back({.name = "input", .out = graph_.input});
    int last = read_layers(root_["layers"], 0, scope);
    const SampleShape logits = node(last).out;
    if (logits.h != 1 || logits.w != 1 || last + 1 != static_cast<int>(graph_.nodes.size()) || last == 0)
      text_.fail(
          root_["layers"],
          fmt::format("the last layer gives {} x {} x {} values per sample", logits.c, logits.h, logits.w),
          "end with a linear layer or with average_pool: global, one value per class");
    const std::int64_t classes = text_.number_of(values["classes"], root_, "classes", 2, 1'000'000);
    if (logits.c != classes)
      text_.fail(root_["layers"],
                 fmt::format("the last layer gives {} values, classes is {}", logits.c, classes),
                 "write out: $classes in the last layer");
    return std::move(graph_);
  }

 private:
  using Values = std::map<std::string, std::string>;

  // --- the top of the file

  void check_top() const {
    if (!root_.IsMap()) text_.fail(root_, "this is not a model", "see configs/models/vgg-small.yaml");
    text_.check_keys(root_, {"model", "about", "citation", "parameters", "blocks", "layers"}, "a model");
    if (!root_["layers"] || !root_["layers"].IsSequence())
      text_.fail(root_, "there is no list 'layers'", "see configs/models/vgg-small.yaml");
  }

  Values defaults() const {
    Values values = {{"classes", "10"}, {"size", "32"}, {"channels", "3"}};
    const YAML::Node given = root_["parameters"];
    if (!given.IsDefined() || given.IsNull()) return values;
    if (!given.IsMap())
      text_.fail(given, "'parameters' is not a list of 'name: value'", "write name: default value");
    text_.each(given, "'parameters'",
               [&](const std::string&, const YAML::Node& name, const YAML::Node& value) {
                 values[text_.plain(name, "name")] = text_.plain(value, "parameter");
               });
    return values;
  }

  void read_blocks() {
    const YAML::Node blocks = root_["blocks"];
    if (!blocks.IsDefined() || blocks.IsNull()) return;
    if (!blocks.IsMap())
      text_.fail(blocks, "'blocks' is not a list of named blocks",
                 "write NAME: {parameters: ..., layers: ...}");
    text_.each(blocks, "'blocks'", [&](const std::string&, const YAML::Node& at, const YAML::Node& block) {
      const std::string name = text_.plain(at, "block");
      if (is_layer_word(name))
        text_.fail(at, fmt::format("{} is a layer", quote_name(name)), "give the block another name");
      if (!block.IsMap()) text_.fail(block, "a block is not a map", "write parameters: and layers:");
      text_.check_keys(block, {"parameters", "layers"}, "a block");
      if (!block["layers"] || !block["layers"].IsSequence())
        text_.fail(block, "the block has no list 'layers'", "add it");
      blocks_[name].reset(block);
    });
  }

  // Returns the defaults with `settings` in their places.
  Values parameters(const ModelSettings& settings) const {
    Values values = defaults();
    for (const auto& [key, value] : settings) {
      if (!values.contains(key))
        throw InputError(text_.file(), fmt::format("the model has no parameter {}", quote_name(key)),
                         suggest(key, keys_of(values)));
      if (!is_utf8(value))
        throw InputError(text_.file(), fmt::format("the value of {} is not UTF-8 text", quote_name(key)),
                         "write it in UTF-8");
      values[key] = value;
    }
    return values;
  }

  // --- Layers. Each function takes the node that comes before and returns the last one it has added.

  int read_layers(const YAML::Node& list, int input, const Scope& scope) {
    if (!list.IsDefined() || list.IsNull()) return input;
    if (!list.IsSequence())
      text_.fail(list, "this is not a list of layers", "write '- LAYER' lines, or [] for none");
    if (scope.depth > kDeepestBlocks)
      text_.fail(list, "blocks are nested too deeply", "does a block use itself?");
    // Repeats of repeats of nothing add no nodes and never end.
    if (++lists_ > kMostLists)
      text_.fail(list, "the network has too many layers", "does a block repeat itself?");
    for (const YAML::Node& entry : list) input = read_layer(entry, input, scope);
    return input;
  }

  int read_layer(const YAML::Node& entry, int input, const Scope& scope) {
    if (entry.IsScalar())
      return add_layer(entry, entry.Scalar(), YAML::Node(YAML::NodeType::Map), input, scope);
    if (!entry.IsMap() || entry.size() != 1)
      text_.fail(entry, "this is not a layer", "write '- relu' or '- conv: {out: 64, kernel: 3}'");
    const auto pair = *entry.begin();
    if (!pair.first.IsScalar())
      text_.fail(entry, "this is not a layer", "write '- conv: {out: 64, kernel: 3}'");
    return add_layer(entry, pair.first.Scalar(), pair.second, input, scope);
  }

  int add_layer(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                const Scope& scope) {
    if (word == "concat") return read_concat(at, options, input, scope);
    if (word == "average_pool" && options.IsScalar() && options.Scalar() == "global")
      return add_global_pool(at, input, scope);
    if (!options.IsMap() && !options.IsNull())
      text_.fail(at, fmt::format("{} has no map of options", quote_name(word)),
                 fmt::format("write {}: {{key: value}}", word));
    if (word == "residual") return read_residual(at, options, input, scope);
    if (word == "repeat") return read_repeat(at, options, input, scope);
    if (word == "choose") return read_choose(at, options, input, scope);
    if (const auto block = blocks_.find(word); block != blocks_.end())
      return read_block(at, word, block->second, options, input, scope);
    if (!is_layer_word(word)) {
      std::vector<std::string> known = layer_words();
      std::ranges::move(keys_of(blocks_), std::back_inserter(known));
      text_.fail(at, fmt::format("unknown layer {}", quote_name(word)), suggest(word, known));
    }
    return add_simple(at, word, options, input, scope);
  }

  int add_simple(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                 const Scope& scope) {
    Node made = read_simple_layer({text_, at, options, scope, node(input).out, graph_.input.h}, word);
    const SampleShape in = node(input).out;
    // A linear layer takes all features of a sample.
    if (made.kind == NodeKind::kLinear && in.size() != in.c)
      input = push(at, {.kind = NodeKind::kFlatten, .inputs = {input}, .out = {in.size(), 1, 1}},
                   name_of("flatten", YAML::Node(), scope));
    made.inputs = {input};
    return push(at, std::move(made), name_of(word, options["name"], scope));
  }

  int add_global_pool(const YAML::Node& at, int input, const Scope& scope) {
    const SampleShape in = node(input).out;
    Node made{.kind = NodeKind::kAveragePool, .inputs = {input}, .out = {in.c, 1, 1}};
    made.kernel = made.stride = {in.h, in.w};
    return push(at, std::move(made), name_of("average_pool", YAML::Node(), scope));
  }

  int read_concat(const YAML::Node& at, const YAML::Node& branches, int input, const Scope& scope) {
    if (!branches.IsSequence() || branches.size() < 2 || branches.size() > 64)
      text_.fail(at, "concat has no list of branches",
                 "write concat: [[LAYER, ...], [LAYER, ...]]; [] is the input itself");
    Node made{.kind = NodeKind::kConcat, .out = {0, 0, 0}};
    for (const YAML::Node& branch : branches) {
      const int end = read_layers(branch, input, scope);
      const SampleShape& out = node(end).out;
      if (!made.inputs.empty() && (out.h != made.out.h || out.w != made.out.w))
        text_.fail(
            branch,
            fmt::format("this branch gives {}x{}, the first {}x{}", out.h, out.w, made.out.h, made.out.w),
            "make their sizes equal");
      made.inputs.push_back(end);
      made.out = {made.out.c + out.c, out.h, out.w};
    }
    return push(at, std::move(made), name_of("concat", YAML::Node(), scope));
  }

  int read_residual(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    text_.check_keys(options, {"body", "shortcut", "first"}, "residual");
    if (!options["body"]) text_.fail(at, "residual has no 'body'", "add it, a list of layers");
    const std::string first =
        options["first"] ? text_.value(options["first"], "first", scope) : std::string("shortcut");
    if (first != "body" && first != "shortcut")
      text_.fail(at, fmt::format("first is {}", quote_name(first)), "give body or shortcut");
    // The order of the layers, which is theirs in a trace; the sum is the same.
    const int early = first == "body" ? read_layers(options["body"], input, scope) : 0;
    const int shortcut = read_layers(options["shortcut"], input, scope);
    const int body = first == "body" ? early : read_layers(options["body"], input, scope);
    const SampleShape a = node(body).out, b = node(shortcut).out;
    if (a != b)
      text_.fail(at,
                 fmt::format("the body gives {}x{}x{}, the shortcut {}x{}x{}", a.c, a.h, a.w, b.c, b.h, b.w),
                 "put a convolution into the shortcut");
    return push(at, {.kind = NodeKind::kAdd, .inputs = {body, shortcut}, .out = a},
                name_of("add", YAML::Node(), scope));
  }

  int read_repeat(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    text_.check_keys(options, {"times", "layers"}, "repeat");
    if (!options["times"] || !options["layers"])
      text_.fail(at, "repeat needs 'times' and 'layers'", "add them");
    Scope inner = scope;
    ++inner.depth;
    std::int64_t times = 0;
    text_.read(options["times"], "times", scope, times, 0, kMostRepeats);
    for (std::int64_t i = 0; i < times; ++i) input = read_layers(options["layers"], input, inner);
    return input;
  }

  int read_choose(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    if (!options["by"])
      text_.fail(at, "choose has no 'by'", "write choose: {by: $name, VALUE: [LAYER, ...], ...}");
    const std::string chosen = text_.value(options["by"], "by", scope);
    std::vector<std::string> known;
    for (const auto& entry : options) {
      const std::string key = text_.plain(entry.first, "value");
      if (key == "by") continue;
      if (key == chosen) {
        Scope inner = scope;
        ++inner.depth;
        return read_layers(entry.second, input, inner);
      }
      known.push_back(key);
    }
    text_.fail(at, fmt::format("there is no choice {}", quote_name(chosen)), suggest(chosen, known));
  }

  int read_block(const YAML::Node& at, const std::string& word, const YAML::Node& block,
                 const YAML::Node& options, int input, const Scope& scope) {
    std::map<std::string, int> counters;
    Scope inner{scope.values, name_of(word, options["name"], scope) + ".", &counters, scope.depth + 1};
    std::vector<std::string> known = {"name"};
    if (const YAML::Node parameters = block["parameters"]; parameters.IsDefined() && !parameters.IsNull()) {
      if (!parameters.IsMap())
        text_.fail(parameters, "'parameters' is not a map", "write {name: default, ...}; ~ for none");
      for (const auto& entry : parameters) {
        const std::string name = text_.plain(entry.first, "name");
        known.push_back(name);
        if (options[name])
          inner.values[name] = text_.value(options[name], name, scope);
        else if (!entry.second.IsNull())
          inner.values[name] = text_.value(entry.second, name, scope);
        else
          text_.fail(at, fmt::format("{} needs {}", quote_name(word), quote_name(name)), "give it a value");
      }
    }
    text_.check_keys(options, known, word);
    return read_layers(block["layers"], input, inner);
  }

  std::string name_of(const std::string& word, const YAML::Node& given, const Scope& scope) {
    if (given.IsDefined() && !given.IsNull()) return scope.prefix + text_.value(given, "name", scope);
    std::string name;
    do name = fmt::format("{}{}{}", scope.prefix, word, ++(*scope.counters)[word]);
    while (names_.contains(name));
    return name;
  }

  int push(const YAML::Node& at, Node made, std::string name) {
    if (name.size() > 200) text_.fail(at, "the name of the layer is too long", "shorten it");
    // A checkpoint keeps such tensors next to the parameters.
    for (const char* taken : {"momentum/", "alive/", "previous/", "optimizer/"})
      if (name.starts_with(taken))
        text_.fail(at, fmt::format("the name of a layer cannot begin with '{}'", taken), "rename it");
    if (!names_.insert(name).second)
      text_.fail(at, fmt::format("two layers are called {}", quote_name(name)), "rename one");
    made.name = std::move(name);
    if (graph_.nodes.size() >= kMostNodes)
      text_.fail(at, "the network has too many layers", "does a block repeat itself?");
    graph_.nodes.push_back(std::move(made));
    const Node& added = graph_.nodes.back();
    bool fits = added.out.c <= kLargestTensor && added.out.h <= kLargestTensor &&
                added.out.c * added.out.h <= kLargestTensor && added.out.size() <= kLargestTensor;
    if (is_product(added.kind)) {
      const std::int64_t in = node(added.inputs[0]).out.c / added.groups;
      fits = fits && in * added.out_channels <= kLargestTensor &&
             in * added.out_channels <= kLargestTensor / (added.kernel.h * added.kernel.w);
    }
    if (!fits) text_.fail(at, "the layer is too large", "use fewer channels or smaller images");
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  const ModelText text_;
  const YAML::Node root_;
  std::map<std::string, YAML::Node> blocks_;
  std::set<std::string> names_{"input"};
  Graph graph_;
  std::size_t lists_ = 0;
};

template <typename Action>
auto with_reader(std::string_view text, const std::string& where, const Action& action) {
  return YamlReader(where).load(text, kKind, [&](const YAML::Node& root) {
    if (!is_utf8(text)) throw InputError(where, "the file is not UTF-8 text", "save it as UTF-8");
    ModelReader reader(where, root);
    return action(reader);
  });
}

}  // namespace

Graph parse_model(std::string_view text, const std::string& where, const ModelSettings& settings) {
  return with_reader(text, where, [&](ModelReader& reader) { return reader.read(settings); });
}

ModelSummary summarize_model(std::string_view text, const std::string& where) {
  return with_reader(text, where, [](ModelReader& reader) { return reader.summary(); });
}

std::string model_text(const std::string& name) {
  return read_named(embedded_models(), name, ".yaml", "--model " + name, "model").text;
}

Graph open_model(const std::string& name, const ModelSettings& settings) {
  return parse_model(model_text(name), name, settings);
}

std::vector<ModelSummary> built_in_models() {
  std::vector<ModelSummary> models;
  for (const EmbeddedFile& file : embedded_models()) {
    ModelSummary summary = summarize_model(file.bytes, std::string(file.name));
    summary.name = file.stem();
    models.push_back(std::move(summary));
  }
  std::ranges::sort(models, {}, &ModelSummary::name);
  return models;
}

}  // namespace lacuna::train
