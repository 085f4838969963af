#include "train/model_file.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/embedded_file.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/quote.hpp"
#include "base/yaml/load_yaml.hpp"

namespace lacuna {
std::span<const EmbeddedFile> embedded_models();  // cmake/LacunaEmbed.cmake
}

namespace lacuna::train {
namespace {

constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostLists = 50'000;
constexpr int kDeepestBlocks = 16;
constexpr std::int64_t kMostRepeats = 1'000;
constexpr std::int64_t kLargestSize = 1 << 20;                  // of any one number
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 31;  // elements of a sample or of weights

using Values = std::map<std::string, std::string>;

const std::vector<std::string> kLayerWords = {
    "conv",    "linear", "batch_norm", "relu",        "max_pool",     "average_pool", "dropout",
    "flatten", "concat", "residual",   "scalar_bias", "scalar_scale", "repeat",       "choose"};

// Names go into headers and reports, which are JSON and so UTF-8.
bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// What is known at a place in the file: the values of `$names`, the prefix of layer names, counters of
// unnamed layers.
struct Scope {
  Values values;
  std::string prefix;
  std::map<std::string, int>* counters = nullptr;
  int depth = 0;
};

class ModelReader {
 public:
  ModelReader(const std::string& file, const YAML::Node& root) : file_(file), root_(root) {}

  ModelSummary summary() {
    check_top();
    ModelSummary summary;
    summary.name = plain(root_["model"], "model");
    if (root_["about"]) summary.about = plain(root_["about"], "about");
    for (const auto& [key, value] : defaults()) summary.parameters.push_back({key, value});
    return summary;
  }

  Graph read(const ModelSettings& settings) {
    check_top();
    graph_.model = plain(root_["model"], "model");
    Values values = defaults();
    for (const auto& [key, value] : settings) {
      if (!values.contains(key)) {
        std::vector<std::string> known;
        for (const auto& [name, unused] : values) known.push_back(name);
        throw InputError(file_, fmt::format("the model has no parameter {}", quote_name(key)),
                         suggest(key, known));
      }
      if (!is_utf8(value))
        throw InputError(file_, fmt::format("the value of {} is not UTF-8 text", quote_name(key)),
                         "write it in UTF-8");
      values[key] = value;
    }
    read_blocks();
    std::map<std::string, int> counters;
    const Scope scope{values, "", &counters, 0};
    graph_.input = {number_of(values["channels"], root_, "channels", 1, 4096),
                    number_of(values["size"], root_, "size", 1, 1 << 14), 0};
    graph_.input.w = graph_.input.h;
    graph_.nodes.push_back({});
    graph_.nodes.back().name = "input";
    graph_.nodes.back().out = graph_.input;
    int last = read_layers(root_["layers"], 0, scope);
    const SampleShape logits = node(last).out;
    if (logits.h != 1 || logits.w != 1 || last + 1 != static_cast<int>(graph_.nodes.size()) || last == 0)
      fail(root_["layers"],
           fmt::format("the last layer gives {} x {} x {} values a sample", logits.c, logits.h, logits.w),
           "end with a linear layer or with average_pool: global, one value a class");
    const std::int64_t classes = number_of(values["classes"], root_, "classes", 2, 1'000'000);
    if (logits.c != classes)
      fail(root_["layers"], fmt::format("the last layer gives {} values, classes is {}", logits.c, classes),
           "write out: $classes in the last layer");
    return std::move(graph_);
  }

 private:
  // --- errors and scalars
  std::string place(const YAML::Node& at) const {
    return !at.IsDefined() || at.Mark().line < 0 ? file_ : fmt::format("{}:{}", file_, at.Mark().line + 1);
  }
  [[noreturn]] void fail(const YAML::Node& at, std::string_view cause, std::string_view remedy) const {
    throw InputError(place(at), cause, remedy);
  }
  std::string plain(const YAML::Node& at, std::string_view what) const {
    if (!at.IsDefined() || !at.IsScalar() || at.Scalar().empty() || at.Scalar().size() > 500)
      fail(at, fmt::format("'{}' is no short text", what), fmt::format("write {}: TEXT", what));
    return at.Scalar();
  }
  // A scalar, or the value of the `$name` it is.
  std::string value(const YAML::Node& at, std::string_view what, const Scope& scope) const {
    std::string text = plain(at, what);
    if (text[0] != '$') return text;
    const auto found = scope.values.find(text.substr(1));
    if (found != scope.values.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, unused] : scope.values) known.push_back(name);
    fail(at, fmt::format("{} is not known here", quote_name(text)), suggest(text.substr(1), known));
  }
  std::int64_t number_of(const std::string& text, const YAML::Node& at, std::string_view what,
                         std::int64_t low, std::int64_t high) const {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < low || number > high)
      fail(at, fmt::format("{} is {}", what, quote_name(text)),
           fmt::format("give a whole number from {} to {}", low, high));
    return number;
  }
  double real_of(const std::string& text, const YAML::Node& at, std::string_view what, double low,
                 double high) const {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !(number >= low && number <= high))
      fail(at, fmt::format("{} is {}", what, quote_name(text)),
           fmt::format("give a number from {} to {}", low, high));
    return number;
  }
  std::int64_t number(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t low,
                      std::int64_t high) const {
    return number_of(value(at, what, scope), at, what, low, high);
  }
  bool flag(const YAML::Node& at, std::string_view what, const Scope& scope) const {
    const std::string text = value(at, what, scope);
    if (text == "true" || text == "yes") return true;
    if (text == "false" || text == "no") return false;
    fail(at, fmt::format("{} is {}", what, quote_name(text)), "give yes or no");
  }
  // "3" or "[3, 1]"
  Size2 size(const YAML::Node& at, std::string_view what, const Scope& scope, std::int64_t low) const {
    if (!at.IsSequence()) {
      const std::int64_t both = number(at, what, scope, low, 4096);
      return {both, both};
    }
    if (at.size() != 2)
      fail(at, fmt::format("{} has {} numbers", what, at.size()), "write one, or [height, width]");
    return {number(at[0], what, scope, low, 4096), number(at[1], what, scope, low, 4096)};
  }
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known, std::string_view of) const {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
      if (std::ranges::find(known, key) == known.end())
        fail(entry.first, fmt::format("{} has no key {}", of, quote_name(key)), suggest(key, known));
      if (!seen.insert(key).second)
        fail(entry.first, fmt::format("{} is there twice", quote_name(key)), "keep one");
    }
  }

  // --- the top of the file
  void check_top() const {
    if (!root_.IsMap()) fail(root_, "this is no model", "see configs/models/vgg-small.yaml");
    check_keys(root_, {"model", "about", "citation", "parameters", "blocks", "layers"}, "a model");
    if (!root_["layers"] || !root_["layers"].IsSequence())
      fail(root_, "there is no list 'layers'", "see configs/models/vgg-small.yaml");
  }
  Values defaults() const {
    Values values = {{"classes", "10"}, {"size", "32"}, {"channels", "3"}};
    const YAML::Node given = root_["parameters"];
    if (!given.IsDefined() || given.IsNull()) return values;
    if (!given.IsMap()) fail(given, "'parameters' is no list of 'name: value'", "write name: default value");
    for (const auto& entry : given) values[plain(entry.first, "name")] = plain(entry.second, "parameter");
    return values;
  }
  void read_blocks() {
    const YAML::Node blocks = root_["blocks"];
    if (!blocks.IsDefined() || blocks.IsNull()) return;
    if (!blocks.IsMap())
      fail(blocks, "'blocks' is no list of named blocks", "write NAME: {parameters: ..., layers: ...}");
    for (const auto& entry : blocks) {
      const std::string name = plain(entry.first, "block");
      if (std::ranges::find(kLayerWords, name) != kLayerWords.end())
        fail(entry.first, fmt::format("{} is a layer", quote_name(name)), "give the block another name");
      if (!entry.second.IsMap()) fail(entry.second, "a block is no map", "write parameters: and layers:");
      check_keys(entry.second, {"parameters", "layers"}, "a block");
      if (!entry.second["layers"] || !entry.second["layers"].IsSequence())
        fail(entry.second, "the block has no list 'layers'", "add it");
      blocks_[name].reset(entry.second);
    }
  }

  // --- layers
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  int read_layers(const YAML::Node& list, int input, const Scope& scope) {
    if (!list.IsDefined() || list.IsNull()) return input;
    if (!list.IsSequence()) fail(list, "this is no list of layers", "write '- LAYER' lines, or [] for none");
    if (scope.depth > kDeepestBlocks)
      fail(list, "blocks lie too deep in each other", "does a block use itself?");
    // Repeats of repeats of nothing add no nodes and never end.
    if (++lists_ > kMostLists) fail(list, "the network has too many layers", "does a block repeat itself?");
    for (const YAML::Node& entry : list) input = read_layer(entry, input, scope);
    return input;
  }

  int read_layer(const YAML::Node& entry, int input, const Scope& scope) {
    if (entry.IsScalar())
      return add_layer(entry, entry.Scalar(), YAML::Node(YAML::NodeType::Map), input, scope);
    if (!entry.IsMap() || entry.size() != 1)
      fail(entry, "this is no layer", "write '- relu' or '- conv: {out: 64, kernel: 3}'");
    const auto pair = *entry.begin();
    if (!pair.first.IsScalar()) fail(entry, "this is no layer", "write '- conv: {out: 64, kernel: 3}'");
    return add_layer(entry, pair.first.Scalar(), pair.second, input, scope);
  }

  int add_layer(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                const Scope& scope) {
    if (word == "concat") return read_concat(at, options, input, scope);
    if (word == "average_pool" && options.IsScalar() && options.Scalar() == "global")
      return add_global_pool(at, input, scope);
    if (!options.IsMap() && !options.IsNull())
      fail(at, fmt::format("{} has no map of options", quote_name(word)),
           fmt::format("write {}: {{key: value}}", word));
    if (word == "residual") return read_residual(at, options, input, scope);
    if (word == "repeat") return read_repeat(at, options, input, scope);
    if (word == "choose") return read_choose(at, options, input, scope);
    if (const auto block = blocks_.find(word); block != blocks_.end())
      return read_block(at, word, block->second, options, input, scope);
    if (std::ranges::find(kLayerWords, word) == kLayerWords.end()) {
      std::vector<std::string> known = kLayerWords;
      for (const auto& [name, unused] : blocks_) known.push_back(name);
      fail(at, fmt::format("unknown layer {}", quote_name(word)), suggest(word, known));
    }
    return add_simple(at, word, options, input, scope);
  }

  int add_simple(const YAML::Node& at, const std::string& word, const YAML::Node& options, int input,
                 const Scope& scope) {
    Node made;
    made.inputs = {input};
    made.out = node(input).out;
    if (word == "conv") {
      read_conv(at, options, made, scope);
    } else if (word == "linear") {
      check_keys(options, {"name", "out", "bias", "init", "gain"}, "linear");
      made.kind = NodeKind::kLinear;
      read_weights(at, options, made, scope);
      made.out = {made.out_channels, 1, 1};
    } else if (word == "max_pool" || word == "average_pool") {
      read_pool(at, word, options, made, scope);
    } else if (word == "dropout") {
      check_keys(options, {"name", "rate"}, "dropout");
      made.kind = NodeKind::kDropout;
      made.rate = options["rate"] ? real_of(value(options["rate"], "rate", scope), at, "rate", 0, 0.99) : 0.5;
    } else {
      check_keys(options, {"name"}, word);
      made.kind = word == "batch_norm"    ? NodeKind::kBatchNorm
                  : word == "relu"        ? NodeKind::kRelu
                  : word == "flatten"     ? NodeKind::kFlatten
                  : word == "scalar_bias" ? NodeKind::kScalarBias
                                          : NodeKind::kScalarScale;
      if (made.kind == NodeKind::kFlatten) made.out = {made.out.size(), 1, 1};
    }
    if (made.kind == NodeKind::kLinear && node(input).out.size() != node(input).out.c) {
      // A linear layer takes all features of a sample.
      Node flat;
      flat.kind = NodeKind::kFlatten;
      flat.inputs = {input};
      flat.out = {node(input).out.size(), 1, 1};
      made.inputs = {push(at, std::move(flat), name_of("flatten", YAML::Node(), at, scope))};
    }
    return push(at, std::move(made), name_of(word, options["name"], at, scope));
  }

  void read_weights(const YAML::Node& at, const YAML::Node& options, Node& made, const Scope& scope) {
    if (!options["out"]) fail(at, "'out' is missing", "say how many outputs the layer has: out: 64");
    made.out_channels = number(options["out"], "out", scope, 1, kLargestSize);
    if (options["bias"]) made.bias = flag(options["bias"], "bias", scope);
    if (options["gain"]) made.gain = real_of(value(options["gain"], "gain", scope), at, "gain", 0, 1000);
    if (!options["init"]) return;
    const std::string text = value(options["init"], "init", scope);
    const std::map<std::string, Init> known = {
        {"he", Init::kHe}, {"he_out", Init::kHeOut}, {"fan", Init::kFan}, {"zero", Init::kZero}};
    const auto found = known.find(text);
    if (found == known.end())
      fail(at, fmt::format("unknown init {}", quote_name(text)), "use he, he_out, fan or zero");
    made.init = found->second;
  }

  void read_conv(const YAML::Node& at, const YAML::Node& options, Node& made, const Scope& scope) {
    check_keys(options,
               {"name", "out", "kernel", "stride", "padding", "dilation", "groups", "bias", "init", "gain"},
               "conv");
    made.kind = NodeKind::kConv;
    read_weights(at, options, made, scope);
    if (!options["kernel"]) fail(at, "'kernel' is missing", "say how large it is: kernel: 3");
    made.kernel = size(options["kernel"], "kernel", scope, 1);
    if (options["stride"]) made.stride = size(options["stride"], "stride", scope, 1);
    if (options["padding"]) made.padding = size(options["padding"], "padding", scope, 0);
    if (options["dilation"]) made.dilation = size(options["dilation"], "dilation", scope, 1);
    if (options["groups"]) made.groups = number(options["groups"], "groups", scope, 1, kLargestSize);
    const SampleShape in = made.out;
    if (in.c % made.groups != 0 || made.out_channels % made.groups != 0)
      fail(at,
           fmt::format("{} groups do not divide {} inputs and {} outputs", made.groups, in.c,
                       made.out_channels),
           "change groups or out");
    const auto reach = [&](std::int64_t have, std::int64_t kernel, std::int64_t padding,
                           std::int64_t dilation) {
      return have + 2 * padding - (dilation * (kernel - 1) + 1);
    };
    const std::int64_t h = reach(in.h, made.kernel.h, made.padding.h, made.dilation.h);
    const std::int64_t w = reach(in.w, made.kernel.w, made.padding.w, made.dilation.w);
    if (h < 0 || w < 0) too_small(at, in);
    made.out = {made.out_channels, h / made.stride.h + 1, w / made.stride.w + 1};
  }

  void read_pool(const YAML::Node& at, const std::string& word, const YAML::Node& options, Node& made,
                 const Scope& scope) {
    check_keys(options, {"name", "kernel", "stride", "padding", "ceil"}, word);
    made.kind = word == "max_pool" ? NodeKind::kMaxPool : NodeKind::kAveragePool;
    made.kernel = options["kernel"] ? size(options["kernel"], "kernel", scope, 1) : Size2{2, 2};
    made.stride = options["stride"] ? size(options["stride"], "stride", scope, 1) : made.kernel;
    if (options["padding"]) made.padding = size(options["padding"], "padding", scope, 0);
    const bool ceil = options["ceil"] && flag(options["ceil"], "ceil", scope);
    if (2 * made.padding.h > made.kernel.h || 2 * made.padding.w > made.kernel.w)
      fail(at, "padding is more than half of the kernel", "make it smaller");
    const SampleShape in = made.out;
    const auto outputs = [&](std::int64_t have, std::int64_t kernel, std::int64_t stride,
                             std::int64_t padding) {
      const std::int64_t left = have + 2 * padding - kernel;
      if (left < 0) too_small(at, in);
      std::int64_t count = (left + (ceil ? stride - 1 : 0)) / stride + 1;
      if ((count - 1) * stride >= have + padding) --count;  // the last window has to start inside
      return count;
    };
    made.out.h = outputs(in.h, made.kernel.h, made.stride.h, made.padding.h);
    made.out.w = outputs(in.w, made.kernel.w, made.stride.w, made.padding.w);
  }

  [[noreturn]] void too_small(const YAML::Node& at, const SampleShape& in) const {
    fail(at, fmt::format("the kernel is larger than its input of {}x{}", in.h, in.w),
         fmt::format("use larger images than {0}x{0} (size) or fewer strides and pools", graph_.input.h));
  }

  int add_global_pool(const YAML::Node& at, int input, const Scope& scope) {
    Node made;
    made.kind = NodeKind::kAveragePool;
    made.inputs = {input};
    made.out = {node(input).out.c, 1, 1};
    made.kernel = made.stride = {node(input).out.h, node(input).out.w};
    return push(at, std::move(made), name_of("average_pool", YAML::Node(), at, scope));
  }

  int read_concat(const YAML::Node& at, const YAML::Node& branches, int input, const Scope& scope) {
    if (!branches.IsSequence() || branches.size() < 2 || branches.size() > 64)
      fail(at, "concat has no list of branches",
           "write concat: [[LAYER, ...], [LAYER, ...]]; [] is the input itself");
    Node made;
    made.kind = NodeKind::kConcat;
    made.out = {0, 0, 0};
    for (const YAML::Node& branch : branches) {
      const int end = read_layers(branch, input, scope);
      const SampleShape& out = node(end).out;
      if (!made.inputs.empty() && (out.h != made.out.h || out.w != made.out.w))
        fail(branch,
             fmt::format("this branch gives {}x{}, the first {}x{}", out.h, out.w, made.out.h, made.out.w),
             "make their sizes equal");
      made.inputs.push_back(end);
      made.out = {made.out.c + out.c, out.h, out.w};
    }
    return push(at, std::move(made), name_of("concat", YAML::Node(), at, scope));
  }

  int read_residual(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    check_keys(options, {"body", "shortcut"}, "residual");
    if (!options["body"]) fail(at, "residual has no 'body'", "add it, a list of layers");
    const int shortcut = read_layers(options["shortcut"], input, scope);
    const int body = read_layers(options["body"], input, scope);
    if (node(body).out != node(shortcut).out) {
      const SampleShape a = node(body).out, b = node(shortcut).out;
      fail(at, fmt::format("the body gives {}x{}x{}, the shortcut {}x{}x{}", a.c, a.h, a.w, b.c, b.h, b.w),
           "put a convolution into the shortcut");
    }
    Node made;
    made.kind = NodeKind::kAdd;
    made.inputs = {body, shortcut};
    made.out = node(body).out;
    return push(at, std::move(made), name_of("add", YAML::Node(), at, scope));
  }

  int read_repeat(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    check_keys(options, {"times", "layers"}, "repeat");
    if (!options["times"] || !options["layers"]) fail(at, "repeat needs 'times' and 'layers'", "add them");
    Scope inner = scope;
    ++inner.depth;
    const std::int64_t times = number(options["times"], "times", scope, 0, kMostRepeats);
    for (std::int64_t i = 0; i < times; ++i) input = read_layers(options["layers"], input, inner);
    return input;
  }

  int read_choose(const YAML::Node& at, const YAML::Node& options, int input, const Scope& scope) {
    if (!options["by"]) fail(at, "choose has no 'by'", "write choose: {by: $name, VALUE: [LAYER, ...], ...}");
    const std::string chosen = value(options["by"], "by", scope);
    std::vector<std::string> known;
    for (const auto& entry : options) {
      const std::string key = plain(entry.first, "value");
      if (key == "by") continue;
      if (key == chosen) {
        Scope inner = scope;
        ++inner.depth;
        return read_layers(entry.second, input, inner);
      }
      known.push_back(key);
    }
    fail(at, fmt::format("there is no choice {}", quote_name(chosen)), suggest(chosen, known));
  }

  int read_block(const YAML::Node& at, const std::string& word, const YAML::Node& block,
                 const YAML::Node& options, int input, const Scope& scope) {
    std::map<std::string, int> counters;
    Scope inner{scope.values, name_of(word, options["name"], at, scope) + ".", &counters, scope.depth + 1};
    std::vector<std::string> known = {"name"};
    if (const YAML::Node parameters = block["parameters"]; parameters.IsDefined() && !parameters.IsNull()) {
      if (!parameters.IsMap())
        fail(parameters, "'parameters' is no map", "write {name: default, ...}; ~ for none");
      for (const auto& entry : parameters) {
        const std::string name = plain(entry.first, "name");
        known.push_back(name);
        if (options[name])
          inner.values[name] = value(options[name], name, scope);
        else if (!entry.second.IsNull())
          inner.values[name] = value(entry.second, name, scope);
        else
          fail(at, fmt::format("{} needs {}", quote_name(word), quote_name(name)), "give it a value");
      }
    }
    check_keys(options, known, word);
    return read_layers(block["layers"], input, inner);
  }

  std::string name_of(const std::string& word, const YAML::Node& given, const YAML::Node& at,
                      const Scope& scope) {
    if (given.IsDefined() && !given.IsNull()) return scope.prefix + value(given, "name", scope);
    (void)at;
    std::string name;
    do name = fmt::format("{}{}{}", scope.prefix, word, ++(*scope.counters)[word]);
    while (names_.contains(name));
    return name;
  }

  int push(const YAML::Node& at, Node made, std::string name) {
    if (name.size() > 200) fail(at, "the name of the layer is too long", "shorten it");
    if (!names_.insert(name).second)
      fail(at, fmt::format("two layers are called {}", quote_name(name)), "rename one");
    made.name = std::move(name);
    if (graph_.nodes.size() >= kMostNodes)
      fail(at, "the network has too many layers", "does a block repeat itself?");
    graph_.nodes.push_back(std::move(made));
    const Node& added = graph_.nodes.back();
    bool fits = added.out.c <= kLargestTensor && added.out.h <= kLargestTensor &&
                added.out.c * added.out.h <= kLargestTensor && added.out.size() <= kLargestTensor;
    if (added.kind == NodeKind::kConv || added.kind == NodeKind::kLinear) {
      const std::int64_t in = node(added.inputs[0]).out.c / added.groups;
      fits = fits && in * added.out_channels <= kLargestTensor &&
             in * added.out_channels <= kLargestTensor / (added.kernel.h * added.kernel.w);
    }
    if (!fits) fail(at, "the layer is too large", "use fewer channels or smaller images");
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  const std::string& file_;
  const YAML::Node root_;
  std::map<std::string, YAML::Node> blocks_;
  std::set<std::string> names_{"input"};
  Graph graph_;
  std::size_t lists_ = 0;
};

constexpr YamlKind kKind{"a model", "see configs/models/vgg-small.yaml"};

// A reader on the file; what yaml-cpp throws inside becomes our error.
template <typename Action>
auto with_reader(std::string_view text, const std::string& where, const Action& action) {
  const YAML::Node root = load_yaml(text, where, kKind);
  if (!is_utf8(text)) throw InputError(where, "the file is not UTF-8 text", "save it as UTF-8");
  try {
    ModelReader reader(where, root);
    return action(reader);
  } catch (const YAML::Exception& e) {
    throw yaml_error(e, where);
  }
}

std::string stem_of(std::string_view file) { return std::string(file.substr(0, file.find(".yaml"))); }

}  // namespace

Graph parse_model(std::string_view text, const std::string& where, const ModelSettings& settings) {
  return with_reader(text, where, [&](ModelReader& reader) { return reader.read(settings); });
}

ModelSummary summarize_model(std::string_view text, const std::string& where) {
  return with_reader(text, where, [](ModelReader& reader) { return reader.summary(); });
}

std::string model_text(const std::string& name) {
  std::vector<std::string> known;
  for (const EmbeddedFile& file : embedded_models()) {
    if (stem_of(file.name) == name) return std::string(file.bytes);
    known.push_back(stem_of(file.name));
  }
  if (std::filesystem::path(name).extension() != ".yaml")
    throw InputError("--model " + name, "there is no such model",
                     suggest(name, known) + ", or give a .yaml file");
  return read_yaml_file(name);
}

Graph open_model(const std::string& name, const ModelSettings& settings) {
  return parse_model(model_text(name), name, settings);
}

std::vector<ModelSummary> built_in_models() {
  std::vector<ModelSummary> models;
  for (const EmbeddedFile& file : embedded_models()) {
    ModelSummary summary = summarize_model(file.bytes, std::string(file.name));
    summary.name = stem_of(file.name);
    models.push_back(std::move(summary));
  }
  std::ranges::sort(models, {}, &ModelSummary::name);
  return models;
}

}  // namespace lacuna::train
