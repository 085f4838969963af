// lacuna synth: writes a synthetic trace.
#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "network/layer_file.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/synthetic/synthetic_text.hpp"
#include "trace/synthetic/zeros_like.hpp"

namespace lacuna::cli {
namespace {

// "f32", "bf16": the names of traces in small letters.
std::string type_word(DataType type) {
  std::string word(facts_of(type).dtype);
  for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
  return word;
}

struct SynthOptions {
  std::vector<std::string> words;
  std::string layers;
  std::string like;
  ZerosChoice zeros;
  std::string zeros_like;
  ZeroTexts texts;
  std::string content = "masks";
  std::string type = "f32";
  std::string model;
  std::string output;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
};

// The layers of --layer, --layers or --like, with the zeros of --A, --W and --G.
SyntheticSpec read_spec(const SynthOptions& options) {
  SyntheticSpec spec;
  spec.info.emplace();
  spec.info->model = "synthetic";
  for (const std::string& text : options.words) {
    spec.layers.push_back(
        parse_synthetic_layer(text, spec.layers.size(), options.texts, fmt::format("--layer '{}'", text)));
  }
  if (!options.layers.empty()) {
    network::LayerList list = network::read_layers(options.layers, options.texts);
    spec.layers = std::move(list.layers);
    spec.info->model = list.name;
    spec.info->left_out = std::move(list.left_out);
    spec.name = options.layers;
  }
  if (!options.like.empty()) {
    const Trace model = Trace::open(options.like);
    const ZeroSpec a = parse_zeros(options.texts.a, "--A");
    const ZeroSpec w = parse_zeros(options.texts.w, "--W");
    const ZeroSpec g = parse_zeros(options.texts.g, "--G");
    for (const Layer& layer : model.layers()) {
      spec.layers.push_back(
          {.name = layer.name, .shape = layer.shape, .steps = layer.steps, .a = a, .w = w, .g = g});
    }
    spec.info->batch = model.info().batch;
    spec.name = options.like;
  }
  if (!options.model.empty()) spec.info->model = options.model;
  if (options.batch > 0) spec.info->batch = options.batch;
  spec.seed = options.seed;
  spec.content = options.content == "masks"    ? SyntheticContent::kMasks
                 : options.content == "values" ? SyntheticContent::kValues
                                               : SyntheticContent::kBoth;
  spec.type = *std::ranges::find(kRecordedTypes, options.type, type_word);
  return spec;
}

void run_synth(const SynthOptions& options) {
  if (!options.words.empty() + !options.layers.empty() + !options.like.empty() != 1)
    throw InputError("lacuna synth", "give one of --layer, --layers and --like", "see 'lacuna synth --help'");
  const std::optional<ZerosTable> zeros = options.zeros.open();
  if (zeros && !options.zeros_like.empty())
    throw InputError("--zeros-like", "--zeros-file says which values are zero already",
                     "leave one of them out");
  check_can_write(options.output, "--output",
                  {options.like, options.layers, options.zeros.file, options.zeros_like});
  if (zeros && !options.like.empty()) {
    if (options.content != "masks" || options.batch != 0)
      throw InputError("--zeros-file", "it draws masks for the batch of the trace",
                       "leave out --content and --batch");
    return write_trace(zeros->draw(Trace::open(options.like), options.zeros.clusters(), options.seed),
                       options.output);
  }
  SyntheticSpec spec = read_spec(options);
  if (zeros) zeros->apply(spec.layers, spec.name, options.zeros.clusters());
  if (!options.zeros_like.empty()) take_zeros_of(Trace::open(options.zeros_like), spec.layers);
  write_trace(make_synthetic(spec), options.output);
}

}  // namespace

void add_synth_command(CLI::App& app) {
  const auto [command, options] =
      add_command<SynthOptions>(app, "synth", "Write a synthetic trace of any geometry", run_synth);
  add(command, "--layer", options.words, "LAYER",
      "A layer: 'conv2d in=64 out=128 kernel=3 input=56 stride=2 padding=1 dilation=1 groups=1 batch=2 "
      "name=c1 A=0.6 W=dense G=channel:0.8', 'linear in=512 out=10 batch=64 steps=1', 'matmul rows=128 "
      "in=64 out=128 batch=12 steps=6' (12 products, 6 per sample) or 'recurrent in=512 out=2048 "
      "batch=640 "
      "steps=10' (10 steps of 64 rows). Sizes are N or HxW. May be given several times")
      ->take_all();
  add(command, "--layers", options.layers, "NAME|FILE",
      fmt::format("Take the layers of a network: {}, a list in YAML or CSV, a topology of SCALE-Sim (.csv) "
                  "or an ONNX "
                  "model (docs/your-network.md)",
                  fmt::join(network::layer_list_names(), ", ")));
  add(command, "--like", options.like, "TRACE", "Take the layers of this trace");
  add_zeros_options(command, options.zeros, "the layers");
  add(command, "--zeros-like", options.zeros_like, "TRACE",
      "Take the zeros of this trace, as they cluster: of the layer of the same name, else of the one that is "
      "of the "
      "same kind and as far into the network")
      ->check(not_empty());
  const auto add_zeros = [&command = command](const char* name, std::string& target, const char* tensor) {
    add(command, name, target, "ZEROS",
        fmt::format("Zeros of {}: a share from 0 to 1 (uniform), channel:SHARE, dense or zero", tensor))
        ->capture_default_str();
  };
  add_zeros("--A", options.texts.a, "the activations");
  add_zeros("--W", options.texts.w, "the weights");
  add_zeros("--G", options.texts.g, "the gradients");
  std::vector<std::string> types;
  for (const DataType type : kRecordedTypes) types.push_back(type_word(type));
  add_choice(command, "--content", options.content, {"masks", "values", "both"},
             "masks, values (small integers) or both")
      ->capture_default_str();
  add_choice(command, "--type", options.type, types, "Type of the values")->capture_default_str();
  add(command, "--model", options.model, "NAME", "Name of the model in the trace (default: of its list)");
  add_number(command, "--batch", options.batch, 1, 1 << 24, "Batch trained with, to which totals are scaled");
  add_seed_option(command, options.seed, "The same seed gives the same file");
  add(command, "-o,--output", options.output, "FILE", "File to write; compressed if the name ends in .zst")
      ->required()
      ->check(not_empty());
  add_examples(
      command,
      {{"lacuna synth --layer 'conv2d in=64 out=64 kernel=3 padding=1 input=56' --A 0.6 -o t.safetensors",
        "one 3x3 layer, 60 % of its activations zero"},
       {"lacuna synth --layers mobilenetv2 --zeros-like resnet50.safetensors.zst -o m.safetensors.zst",
        "a network that nobody recorded, with the zeros of a relative"},
       {"lacuna synth --like resnet50.safetensors.zst --A channel:0.5 --G 0 -o t.safetensors.zst",
        "the layers of a network with zeros clustered by channel"}});
}

}  // namespace lacuna::cli
