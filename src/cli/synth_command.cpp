// lacuna synth: writes a synthetic trace.
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parse_number.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "trace/synthetic.hpp"
#include "trace/trace_writer.hpp"

namespace lacuna::cli {
namespace {

struct SynthOptions {
  std::vector<std::string> layers;
  std::string like;
  std::string a = "0.5";
  std::string w = "dense";
  std::string g = "0.5";
  std::string content = "masks";
  std::string type = "f32";
  std::string model = "synthetic";
  std::string output;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
};

// "dense", "zero", "0.6" (uniform) or "channel:0.6"
ZeroSpec parse_zeros(const std::string& text, const std::string& where) {
  if (text == "dense") return ZeroSpec::dense();
  if (text == "zero") return ZeroSpec::all_zero();
  const bool clustered = text.starts_with("channel:");
  const std::string number = clustered ? text.substr(8) : text;
  const auto share = parse_number<double>(number);
  if (!share || !(*share >= 0 && *share <= 1)) {
    throw InputError(where, fmt::format("'{}' does not say which values are zero", text),
                     "write a share from 0 to 1 (uniform), channel:SHARE (clustered), dense or zero");
  }
  return clustered ? ZeroSpec::by_channel(*share) : ZeroSpec::uniform(*share);
}

// One --layer: a type and key=value words.
class LayerWords {
 public:
  explicit LayerWords(const std::string& text) : where_(fmt::format("--layer '{}'", text)) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      at = end + 1;
      if (word.empty()) continue;
      const std::size_t equals = word.find('=');
      if (type_.empty() && equals == std::string::npos) {
        type_ = word;
      } else if (equals == std::string::npos) {
        fail(fmt::format("'{}' is not key=value", word), "write for example kernel=3");
      } else if (!words_.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
        fail(fmt::format("'{}' is there twice", word.substr(0, equals)), "remove one");
      }
    }
    if (type_ != "conv2d" && type_ != "linear") {
      fail(fmt::format("unknown type '{}'", type_), suggest(type_, {"conv2d", "linear"}));
    }
  }

  const std::string& where() const { return where_; }
  const std::string& type() const { return type_; }

  void allow(const std::vector<std::string>& keys) const {
    for (const auto& [key, value] : words_) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        fail(fmt::format("unknown key '{}' of {}", key, type_), suggest(key, keys));
      }
    }
  }

  std::string text(const char* key, const std::string& fallback) const {
    const auto at = words_.find(key);
    return at == words_.end() ? fallback : at->second;
  }

  std::int64_t integer(const char* key, std::optional<std::int64_t> fallback = {}) const {
    const auto at = words_.find(key);
    if (at == words_.end()) return required(key, fallback);
    return number(key, at->second);
  }

  // "3" for both axes, "3x2" for height and width.
  Size2 size(const char* key, std::optional<Size2> fallback = {}) const {
    const auto at = words_.find(key);
    if (at == words_.end()) return required(key, fallback);
    const std::size_t cross = at->second.find('x');
    if (cross == std::string::npos) {
      const std::int64_t both = number(key, at->second);
      return {both, both};
    }
    return {number(key, at->second.substr(0, cross)), number(key, at->second.substr(cross + 1))};
  }

 private:
  [[noreturn]] void fail(const std::string& cause, const std::string& remedy) const {
    throw InputError(where_, cause, remedy);
  }

  template <typename Value>
  Value required(const char* key, const std::optional<Value>& fallback) const {
    if (!fallback) fail(fmt::format("'{}' is missing", key), fmt::format("add {}=...", key));
    return *fallback;
  }

  std::int64_t number(const char* key, const std::string& text) const {
    constexpr std::int64_t kLargest = std::int64_t{1} << 24;
    const auto value = parse_number<std::int64_t>(text);
    if (!value || *value < 0 || *value > kLargest) {
      fail(fmt::format("'{}' is not a number from 0 to {} for '{}'", text, kLargest, key),
           "write 3, or 3x2 for height and width");
    }
    return *value;
  }

  std::string where_;
  std::string type_;
  std::map<std::string, std::string> words_;
};

SyntheticLayer parse_layer(const std::string& text, std::size_t index, const SynthOptions& options) {
  const LayerWords words(text);
  SyntheticLayer layer;
  layer.name = words.text("name", fmt::format("layer{}", index));
  if (words.type() == "linear") {
    words.allow({"name", "in", "out", "batch", "steps", "A", "W", "G"});
    layer.steps = words.integer("steps", 1);
    layer.shape = LayerShape::linear(words.integer("batch", 1), words.integer("in"), words.integer("out"));
  } else {
    words.allow({"name", "in", "out", "kernel", "input", "stride", "padding", "dilation", "groups", "batch",
                 "A", "W", "G"});
    const Size2 stride = words.size("stride", Size2{1, 1});
    if (stride.h < 1 || stride.w < 1) throw InputError(words.where(), "the stride is 0", "give 1 or more");
    layer.shape = LayerShape::conv2d(words.integer("batch", 1), words.integer("in"), words.integer("out"),
                                     words.size("input"), words.size("kernel", Size2{1, 1}), stride,
                                     words.size("padding", Size2{0, 0}), words.size("dilation", Size2{1, 1}),
                                     words.integer("groups", 1));
  }
  layer.shape.validate(words.where());
  layer.a = parse_zeros(words.text("A", options.a), words.where());
  layer.w = parse_zeros(words.text("W", options.w), words.where());
  layer.g = parse_zeros(words.text("G", options.g), words.where());
  return layer;
}

void run_synth(const SynthOptions& options) {
  if (options.layers.empty() == options.like.empty()) {
    throw InputError("lacuna synth", "give either --layer or --like", "see 'lacuna synth --help'");
  }
  check_can_write(options.output, "--output", {options.like});
  SyntheticSpec spec;
  spec.name = options.model;
  spec.seed = options.seed;
  spec.content = options.content == "masks"    ? SyntheticContent::kMasks
                 : options.content == "values" ? SyntheticContent::kValues
                                               : SyntheticContent::kBoth;
  spec.type = options.type == "f32" ? DataType::kFp32 : DataType::kBfloat16;
  for (const std::string& text : options.layers) {
    spec.layers.push_back(parse_layer(text, spec.layers.size(), options));
  }
  if (!options.like.empty()) {
    const Trace model = Trace::open(options.like);
    const ZeroSpec a = parse_zeros(options.a, "--A");
    const ZeroSpec w = parse_zeros(options.w, "--W");
    const ZeroSpec g = parse_zeros(options.g, "--G");
    for (const Layer& layer : model.layers()) {
      spec.layers.push_back(
          {.name = layer.name, .shape = layer.shape, .steps = layer.steps, .a = a, .w = w, .g = g});
    }
    if (options.batch == 0 && model.info().batch) spec.batch = model.info().batch;
  }
  if (options.batch > 0) spec.batch = options.batch;
  write_trace(make_synthetic(spec), options.output);
}

}  // namespace

void add_synth_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("synth", "Write a synthetic trace of any geometry");
  auto options = std::make_shared<SynthOptions>();
  command
      ->add_option(
          "--layer", options->layers,
          "A layer: 'conv2d in=64 out=128 kernel=3 input=56 stride=2 padding=1 dilation=1 groups=1 batch=2 "
          "name=c1 A=0.6 W=dense G=channel:0.8' or 'linear in=512 out=10 batch=64 steps=1'. Sizes are N or "
          "HxW. May be given several times")
      ->type_name("LAYER")
      ->take_all();
  command->add_option("--like", options->like, "Take the layers of this trace")->type_name("TRACE");
  const auto add_zeros = [&](const char* name, std::string& target, const char* tensor) {
    command
        ->add_option(
            name, target,
            fmt::format("Zeros of {}: a share from 0 to 1 (uniform), channel:SHARE, dense or zero", tensor))
        ->type_name("ZEROS")
        ->capture_default_str();
  };
  add_zeros("--A", options->a, "the activations");
  add_zeros("--W", options->w, "the weights");
  add_zeros("--G", options->g, "the gradients");
  command->add_option("--content", options->content, "masks, values (small integers) or both")
      ->check(CLI::IsMember({"masks", "values", "both"}).description(""))
      ->type_name("masks|values|both")
      ->capture_default_str();
  command->add_option("--type", options->type, "Type of the values")
      ->check(CLI::IsMember({"f32", "bf16"}).description(""))
      ->type_name("f32|bf16")
      ->capture_default_str();
  command->add_option("--model", options->model, "Name of the model in the trace")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Batch trained with, to which totals are scaled")
      ->check(whole_number(1, 1 << 24))
      ->type_name("N");
  command->add_option("--seed", options->seed, "The same seed gives the same file")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; compressed if the name ends in .zst")
      ->required()
      ->check(not_empty())
      ->type_name("FILE");
  add_examples(
      *command,
      {{"lacuna synth --layer 'conv2d in=64 out=64 kernel=3 padding=1 input=56' --A 0.6 -o t.safetensors",
        "one 3x3 layer, 60 % of its activations zero"},
       {"lacuna synth --like resnet50.safetensors.zst --A channel:0.5 --G 0 -o t.safetensors.zst",
        "the layers of a network with zeros clustered by channel"}});
  command->callback([options] { run_synth(*options); });
}

}  // namespace lacuna::cli
