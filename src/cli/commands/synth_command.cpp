// lacuna synth: writes a synthetic trace.
#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "trace/format/trace_writer.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/synthetic/synthetic_text.hpp"

namespace lacuna::cli {
namespace {

// "f32", "bf16": the names of traces in small letters.
std::string type_word(DataType type) {
  std::string word(facts_of(type).dtype);
  for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
  return word;
}

struct SynthOptions {
  std::vector<std::string> layers;
  std::string like;
  ZerosChoice zeros;
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

void run_synth(const SynthOptions& options) {
  if (options.layers.empty() == options.like.empty()) {
    throw InputError("lacuna synth", "give either --layer or --like", "see 'lacuna synth --help'");
  }
  const std::optional<ZerosTable> zeros = options.zeros.open();
  if (zeros && options.like.empty())
    throw InputError("--zeros-file", "its lines are for the layers of a trace", "name the trace with --like");
  check_can_write(options.output, "--output", {options.like, options.zeros.file});
  if (zeros) {
    if (options.content != "masks" || options.batch != 0)
      throw InputError("--zeros-file", "it draws masks for the batch of the trace",
                       "leave out --content and --batch");
    return write_trace(zeros->draw(Trace::open(options.like), options.zeros.clusters(), options.seed),
                       options.output);
  }
  SyntheticSpec spec;
  spec.name = options.model;
  spec.seed = options.seed;
  spec.content = options.content == "masks"    ? SyntheticContent::kMasks
                 : options.content == "values" ? SyntheticContent::kValues
                                               : SyntheticContent::kBoth;
  spec.type = *std::ranges::find(kRecordedTypes, options.type, type_word);
  for (const std::string& text : options.layers) {
    spec.layers.push_back(parse_synthetic_layer(text, spec.layers.size(), {options.a, options.w, options.g},
                                                fmt::format("--layer '{}'", text)));
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
  const auto [command, options] =
      add_command<SynthOptions>(app, "synth", "Write a synthetic trace of any geometry", run_synth);
  add(command, "--layer", options.layers, "LAYER",
      "A layer: 'conv2d in=64 out=128 kernel=3 input=56 stride=2 padding=1 dilation=1 groups=1 batch=2 "
      "name=c1 A=0.6 W=dense G=channel:0.8', 'linear in=512 out=10 batch=64 steps=1', 'matmul rows=128 "
      "in=64 out=128 batch=12 steps=6' (12 products, 6 per sample) or 'recurrent in=512 out=2048 "
      "batch=640 "
      "steps=10' (10 steps of 64 rows). Sizes are N or HxW. May be given several times")
      ->take_all();
  add(command, "--like", options.like, "TRACE", "Take the layers of this trace");
  add_zeros_options(command, options.zeros, "the trace of --like");
  const auto add_zeros = [&command = command](const char* name, std::string& target, const char* tensor) {
    add(command, name, target, "ZEROS",
        fmt::format("Zeros of {}: a share from 0 to 1 (uniform), channel:SHARE, dense or zero", tensor))
        ->capture_default_str();
  };
  add_zeros("--A", options.a, "the activations");
  add_zeros("--W", options.w, "the weights");
  add_zeros("--G", options.g, "the gradients");
  std::vector<std::string> types;
  for (const DataType type : kRecordedTypes) types.push_back(type_word(type));
  add_choice(command, "--content", options.content, {"masks", "values", "both"},
             "masks, values (small integers) or both")
      ->capture_default_str();
  add_choice(command, "--type", options.type, types, "Type of the values")->capture_default_str();
  add(command, "--model", options.model, "NAME", "Name of the model in the trace")->capture_default_str();
  add_number(command, "--batch", options.batch, 1, 1 << 24, "Batch trained with, to which totals are scaled");
  add_seed_option(command, options.seed, "The same seed gives the same file");
  add(command, "-o,--output", options.output, "FILE", "File to write; compressed if the name ends in .zst")
      ->required()
      ->check(not_empty());
  add_examples(
      command,
      {{"lacuna synth --layer 'conv2d in=64 out=64 kernel=3 padding=1 input=56' --A 0.6 -o t.safetensors",
        "one 3x3 layer, 60 % of its activations zero"},
       {"lacuna synth --like resnet50.safetensors.zst --A channel:0.5 --G 0 -o t.safetensors.zst",
        "the layers of a network with zeros clustered by channel"}});
}

}  // namespace lacuna::cli
