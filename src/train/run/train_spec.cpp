#include "train/run/train_spec.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/error.hpp"
#include "base/text/choice.hpp"
#include "base/text/parse_number.hpp"
#include "kernels/bfloat16/bfloat16_conv.hpp"
#include "train/sparsity/quantize.hpp"

namespace lacuna::train {
namespace {

constexpr double kLargestInteger = 0x1p64;
constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;  // times a small number it still fits in 64 bits
constexpr double kSmallest = std::numeric_limits<double>::min();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr bool kMayChange = true;

struct Range {
  double low = 0, high = 0;
};
constexpr Range kSteps{1, static_cast<double>(kMostSteps)};
constexpr Range kStepsFromZero{0, static_cast<double>(kMostSteps)};

// Places of an option: in config.json, in a checkpoint and on the command line.
struct Place {
  const char* config = "";
  const char* placeholder = "";
  bool may_change = false;
  std::optional<std::string> before{};
};

template <typename T>
constexpr ParamSpec::Kind kind_of() {
  if (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) return ParamSpec::Kind::kFlag;
  if (std::is_integral_v<T>) return ParamSpec::Kind::kInteger;
  return std::is_floating_point_v<T> ? ParamSpec::Kind::kNumber : ParamSpec::Kind::kText;
}

// Conversions of a member to and from text.
template <typename T>
std::string to_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "on" : "off";
  return fmt::format("{}", value);
}
template <typename T>
void from_text(const std::string& text, T& value) {
  if constexpr (kind_of<T>() == ParamSpec::Kind::kFlag)
    value = text.empty() ? T{} : T(text == "on");
  else if constexpr (kind_of<T>() == ParamSpec::Kind::kText)
    value = text;
  else
    value = parse_number<T>(text).value();
}

// Collects the options; a heading holds for those that follow.
class Table {
 public:
  std::vector<TrainOption> options;

  void heading(const char* text) { group_ = text; }

  // An option whose value is the member that `at` returns; its type is that of the option. An empty default:
  // the option is unset unless it is given. `unset` is the text of a value that stands for none.
  template <typename At>
  TrainOption& add(const char* name, const char* value, Range range, const char* help, Place place, At at,
                   const std::string& unset = "") {
    using Member = std::remove_cvref_t<decltype(at(std::declval<TrainSpec&>()))>;
    TrainOption& option = start(name, kind_of<Member>(), value, range, help, std::move(place));
    option.get = [at, unset](const TrainSpec& from) -> std::optional<std::string> {
      const auto& member = at(const_cast<TrainSpec&>(from));  // `at` is written once, for get and set
      std::string text;
      if constexpr (requires { *member; }) {
        if (!member) return std::nullopt;
        text = to_text(*member);
      } else {
        text = to_text(member);
      }
      return text == unset ? std::nullopt : std::optional(text);
    };
    option.set = [at, unset](TrainSpec& to, const std::string& text) {
      from_text(text.empty() ? unset : text, at(to));
    };
    return option;
  }

  // An option whose value is the enumeration that `at` returns; `names` are those of its values.
  template <typename At, typename Names>
  TrainOption& choice(const char* name, const char* value, const char* help, Place place, At at,
                      const Names& names) {
    TrainOption& option = start(name, ParamSpec::Kind::kText, value, {}, help, std::move(place));
    option.spec.choices.assign(names.begin(), names.end());
    option.placeholder = fmt::format("{}", fmt::join(names, "|"));
    option.get = [at, &names](const TrainSpec& from) {
      return std::optional<std::string>(choice_name(at(const_cast<TrainSpec&>(from)), names));
    };
    option.set = [at, &names, name](TrainSpec& to, const std::string& text) {
      auto& member = at(to);
      member = parse_choice<std::remove_cvref_t<decltype(member)>>(std::string("--") + name, text, names);
    };
    return option;
  }

 private:
  TrainOption& start(const char* name, ParamSpec::Kind kind, const char* value, Range range, const char* help,
                     Place place) {
    return options.emplace_back(TrainOption{{name, kind, "", value, range.low, range.high, {}, help, ""},
                                            group_,
                                            place.placeholder,
                                            place.config,
                                            place.may_change,
                                            std::move(place.before)});
  }
  std::string group_;
};

std::string prune_text(const TrainSpec& spec) {
  const PruningOptions& prune = spec.training.pruning;
  return fmt::format("{} {} {} {} {}{}{}", static_cast<int>(prune.method), prune.zeros, prune.every,
                     prune.until, prune.move, prune.as_drawn ? " as drawn" : "",
                     prune.growth_steps > 0 ? fmt::format(" growth {}", prune.growth_steps) : "");
}

std::string sparsify_text(const TrainSpec& spec) {
  const SparsifyOptions& sparsify = spec.network.sparsify;
  if (!spec.sparsifies()) return "none";
  return fmt::format("{} {}{}", sparsify_name(sparsify.method), sparsify.density,
                     sparsify.reuses() ? fmt::format(" after {}", sparsify.warmup) : "");
}

std::string schedule_text(const TrainSpec& spec) {
  return std::to_string(static_cast<int>(spec.training.schedule.kind));
}

#define AT(member) \
  [](TrainSpec & s) -> auto& { return s.member; }

// Options that decide what is learnt keep the order in which checkpoints list them.
std::vector<TrainOption> make_options() {
  Table t;
  t.heading("Network");
  t.add("model", "vgg-small", {}, "A built-in model (--list) or a .yaml file", {"/model", "NAME|FILE"},
        AT(model));
  t.add("init", "", {},
        "Start from the parameters in this file (a checkpoint, or any safetensors file with the same names "
        "and shapes)",
        {"/init", "FILE"}, AT(initial));
  t.choice(
      "kernels", "auto",
      "dense: oneDNN; sparse: skip zeros; auto: whichever is expected to be faster, chosen for each call",
      {"/kernels", "", kMayChange}, AT(network.kernels), kKernels);
  t.choice("precision", "float32",
           "bfloat16: round the operands of products, where the CPU has AMX or AVX512-BF16; sums, weights "
           "and all else stay single precision. With --kernels auto where it is expected to be faster",
           {"/precision", "", kMayChange, "float32"}, AT(network.precision), kPrecisions);
  t.add("exact", "", {},
        "--kernels auto leaves out Winograd, which rounds more coarsely; the default with --record",
        {"/exact", "", kMayChange, "on"}, AT(exact));
  t.choice(
      "input-grad", "auto",
      "auto: gradients of an input that comes out of a ReLU may be left out where the input is zero, because "
      "the ReLU discards them; all: they are computed. Learns the same, up to the order of sums",
      {"/input_grad", "", kMayChange, "all"}, AT(network.needed), kNeededGradients);
  t.add("threads", "", {0, 1024}, "Threads (default: all cores)", {"/threads", "N", kMayChange},
        AT(network.threads), "0");

  t.heading("Learning");
  t.add("batch", "32", {1, 65536}, "Images per step", {"/batch", "N"}, AT(network.batch)).checkpoint =
      "batch";
  t.add("epochs", "10", {1e-9, 1e6}, "Passes over the training set", {"", "N"}, AT(epochs));
  t.add("steps", "", kSteps, "Training steps; replaces --epochs", {"/steps", "N", kMayChange},
        AT(training.steps), "0")
      .checkpoint = "steps";
  t.add("seed", "1", {0, kLargestInteger},
        "Seed of everything random: weights, order of images, flips, crops, dropout", {"/seed", "N"},
        AT(training.seed))
      .checkpoint = "seed";
  t.add("lr", "0.02", {kSmallest, kLargest}, "Learning rate (default with adamw: 0.001)", {"/lr", "X"},
        AT(training.schedule.rate))
      .checkpoint = "lr";
  t.choice("schedule", "cosine", "How the learning rate changes", {"/schedule"}, AT(training.schedule.kind),
           kSchedules)
      .checkpoint_as("schedule", schedule_text);
  t.add("warmup", "", kStepsFromZero,
        "Steps of linear growth of the learning rate from zero (default: a twentieth of all steps)",
        {"/warmup", "N"}, AT(training.schedule.warmup), "-1")
      .checkpoint = "warmup";
  t.add("momentum", "0.9", {0, 0.9999}, "Momentum of sgd", {"/momentum", "X"},
        AT(training.optimizer.momentum))
      .checkpoint = "momentum";
  t.add("weight-decay", "0.0005", {0, 1}, "Weight decay (default with adamw: 0.01)", {"/weight_decay", "X"},
        AT(training.optimizer.weight_decay))
      .checkpoint = "weight_decay";
  t.choice("optimizer", "sgd",
           "How weights are updated, as in PyTorch; sgd: with momentum; adamw: by means of gradients and "
           "of their squares, with decoupled weight decay",
           {"/optimizer", "", false, "sgd"}, AT(training.optimizer.kind), optimizer_names())
      .checkpoint_if_changed("optimizer");
  t.add("beta1", "0.9", {0, 0.9999}, "adamw: share of the mean of gradients that a step leaves",
        {"/beta1", "X", false, "0.9"}, AT(training.optimizer.beta1))
      .checkpoint_if_changed("beta1");
  t.add("beta2", "0.999", {0, 0.999999}, "adamw: the same of the mean of their squares",
        {"/beta2", "X", false, "0.999"}, AT(training.optimizer.beta2))
      .checkpoint_if_changed("beta2");
  t.add("eps", "1e-08", {kSmallest, 1}, "adamw: added to the root of the mean of squares",
        {"/eps", "X", false, "1e-08"}, AT(training.optimizer.eps))
      .checkpoint_if_changed("eps");

  t.heading("Data");
  t.add("data", "shapes", {},
        "shapes (built in), cifar10:DIR, cifar100:DIR, mnist:DIR, folder:DIR, or a DIR whose kind is "
        "recognised",
        {"/data/set", "SET"}, AT(data));
  t.add("size", "", {8, 4096}, "Height and width of the images in pixels (default: those of the data set)",
        {"/data/size", "N", false, ""}, AT(images.image_size), "0");
  t.add("train-size", "", kSteps, "Training images to use (default: all)",
        {"/data/train_size", "N", false, ""}, AT(images.train_size), "0");
  t.add("test-size", "", kSteps, "Test images to use (default: all)", {"/data/test_size", "N", false, ""},
        AT(images.test_size), "0");
  t.add("flip", "off", {}, "Mirror each image left to right with probability 1/2", {"/data/flip"},
        AT(training.flip))
      .checkpoint = "flip";
  t.add("crop", "0", {0, 512}, "Shift each image at random by up to N pixels each way", {"/data/crop", "N"},
        AT(training.crop_padding))
      .checkpoint = "crop";

  t.heading("Pruning");
  t.choice("prune", "none",
           "Keep most weights at zero while training: sm (sparse momentum) or ds (dynamic sparse "
           "reparameterisation)",
           {"/prune/method", "", false, "none"}, AT(training.pruning.method), kPruningMethods)
      .checkpoint_as("prune", prune_text);
  t.add("prune-zeros", "0.9", {0, 0.999}, "Share of zero weights in the pruned layers", {"/prune/zeros", "X"},
        AT(training.pruning.zeros));
  t.add("prune-every", "100", kSteps, "Steps between changes of the set of zero weights",
        {"/prune/every", "N"}, AT(training.pruning.every));
  t.add("prune-as-drawn", "off", {},
        "Do not enlarge the initial weights to make up for the pruned ones (assumption T4)",
        {"/prune/as_drawn"}, AT(training.pruning.as_drawn));
  t.add("prune-growth-steps", "", kSteps,
        "sm: steps before each change in which gradients of zero weights are computed; in the others kernels "
        "compute those of the non-zero weights alone (default: as many as the momentum remembers to one "
        "percent, 44 for 0.9)",
        {"/prune/growth_steps", "N", false, ""}, AT(training.pruning.growth_steps), "0");

  t.heading("Sparse training");
  t.choice("sparsify", "none",
           "Multiply only the largest values. swat: of weights in forward and input_grad, of activations in "
           "weight_grad; topk: of every operand of every product; meprop: of gradients; resprop: of their "
           "differences to the step before; swat+resprop: both",
           {"/sparsify/method", "", false, "none"}, AT(network.sparsify.method), kSparsifyMethods)
      .checkpoint_as("sparsify", sparsify_text);
  t.add("density", "0.1", {kSmallest, 1}, "Share of values that --sparsify keeps", {"/sparsify/density", "X"},
        AT(network.sparsify.density));
  t.add("sparsify-warmup", "", kStepsFromZero,
        "Steps in which resprop comes down to --density: gradients as they are for two ninths, then fewer "
        "and fewer differences (default: a tenth of all steps)",
        {"/sparsify/warmup", "N", false, ""}, AT(network.sparsify.warmup), "-1");
  t.add("selective-backprop", "", {kSmallest, 1},
        "Share of the images that is learnt from: those with large losses more often; the gradients of the "
        "others are zero",
        {"/selective_backprop", "X", false, ""}, AT(network.learnt_samples), "1")
      .checkpoint = "selective";
  t.add("quantize", "", {kFewestBits, kMostBits},
        "Round weights and activations to BITS bits before they are multiplied, except in the first and the "
        "last layer; small values become zero",
        {"/quantize", "BITS", false, ""}, AT(network.quantize_bits), "0")
      .checkpoint = "quantize";

  t.heading("");  // recorded only
  t.add("data-seed", "1", {0, kMostSteps}, "Seed of the built-in images and of the choice of images",
        {"/data/seed"}, AT(images.seed));
  t.add("prune-until", "0", kStepsFromZero, "Last step that changes the set", {"/prune/until"},
        AT(training.pruning.until));
  t.add("prune-move", "0.2", {0, 1}, "Share of the non-zero weights that moves at each change",
        {"/prune/move"}, AT(training.pruning.move));

  t.heading("Run and output");
  t.add("out", "lacuna-train", {}, "Folder for checkpoint.safetensors, log.csv, config.json and traces",
        {"", "DIR"}, AT(out));
  t.add("report-every", "", kSteps,
        "Steps between lines of the table and log (default: one epoch or a tenth of the run)",
        {"/report_every", "N", kMayChange}, AT(report_every), "0");
  t.add("test-every", "", kSteps, "Steps between tests (default: one epoch)",
        {"/test_every", "N", kMayChange}, AT(test_every), "0");
  t.add("checkpoint-every", "", kSteps, "Steps between checkpoints (default: one epoch)",
        {"/checkpoint_every", "N", kMayChange}, AT(checkpoint_every), "0");
  t.add("record", "0", kSteps, "Write a trace of steps 0, EVERY, 2*EVERY, ...",
        {"/record_every", "EVERY", kMayChange}, AT(record_every), "0");
  t.add("samples", "2", kSteps, "Images of each batch to keep in a trace; linear layers keep all",
        {"/record_samples", "N", kMayChange, ""}, AT(record.samples));
  t.add("values", "off", {}, "Store values in traces, not only masks of non-zeros",
        {"/record_values", "", kMayChange, ""}, AT(record.values));
  t.add("compare", "", {1, 100'000},
        "At the end, time STEPS more batches with dense kernels and with those of this run", {"", "STEPS"},
        AT(compare_steps), "0");
  t.add("beside-dense", "off", {},
        "At the end, train once more with all weights, values and images (without --sparsify, "
        "--selective-backprop, --quantize and --prune) and print both accuracies",
        {}, AT(beside_dense));
  return std::move(t.options);
}

#undef AT

std::string range_of(const ParamSpec& spec) {
  if (spec.kind == ParamSpec::Kind::kInteger) {
    const std::uint64_t high = spec.max >= kLargestInteger ? std::numeric_limits<std::uint64_t>::max()
                                                           : static_cast<std::uint64_t>(spec.max);
    return fmt::format("a whole number from {} to {}", spec.min, high);
  }
  if (spec.min > 0 && spec.max == kLargest) return "a positive number";
  if (spec.min > 0) return fmt::format("a number above 0 and up to {}", spec.max);
  return fmt::format("a number from {} to {}", spec.min, spec.max);
}

}  // namespace

const std::vector<TrainOption>& train_options() {
  static const std::vector<TrainOption> kOptions = make_options();
  return kOptions;
}

TrainSpec::TrainSpec() {
  for (const TrainOption& option : train_options()) option.set(*this, option.spec.default_value);
}

std::string TrainOption::problem(const std::string& text) const {
  const auto in_range = [&](const auto& value) {
    return value && static_cast<double>(*value) >= spec.min && static_cast<double>(*value) <= spec.max;
  };
  bool good = true;
  if (spec.kind == ParamSpec::Kind::kInteger) good = in_range(parse_number<std::uint64_t>(text));
  if (spec.kind == ParamSpec::Kind::kNumber) good = in_range(parse_number<double>(text));
  return good ? std::string() : "give " + range_of(spec);
}

void TrainOption::give(TrainSpec& to, const std::string& text) const {
  const std::string wrong = problem(text);
  if (!wrong.empty()) throw InputError("--" + spec.name, wrong, "see 'lacuna train --help'");
  set(to, text);
  to.given.insert(spec.name);
}

void check(const TrainSpec& spec) {
  const NetworkOptions& network = spec.network;
  const std::string sparsify = sparsify_name(network.sparsify.method);
  if (network.precision == Precision::kBfloat16) {
    if (network.kernels == Kernels::kSparse)
      throw InputError("--precision bfloat16", "kernels that always skip zeros multiply in single precision",
                       "use --kernels auto or dense");
    kernels::require_bfloat16("--precision bfloat16");
  }
  if (spec.sparsifies() && spec.prunes())
    throw InputError("--sparsify " + sparsify, "weights that are pruned stay zero anyway",
                     "leave out --prune or --sparsify");
  if (spec.sparsifies() && network.quantize_bits > 0)
    throw InputError(fmt::format("--quantize {}", network.quantize_bits),
                     "values cannot be both quantized and sparsified", "leave out --quantize or --sparsify");
  if (spec.beside_dense && !spec.sparsifies() && network.quantize_bits == 0 && network.learnt_samples >= 1 &&
      !spec.prunes())
    throw InputError("--beside-dense", "this run is dense itself",
                     "add --sparsify, --selective-backprop, --quantize or --prune, or leave it out");
  if (!spec.sparsifies() && spec.given.contains("density"))
    throw InputError("--density", "it belongs to --sparsify", "say which method, or leave it out");
  if (!spec.resume) {  // what an earlier run has recorded was checked then
    const bool adamw = kOptimizers[spec.training.optimizer.kind].make == make_adamw;
    for (const char* name : {"beta1", "beta2", "eps"})
      if (!adamw && spec.given.contains(name))
        throw InputError(fmt::format("--{}", name), "it belongs to --optimizer adamw",
                         "add that, or leave it out");
    if (adamw && spec.given.contains("momentum"))
      throw InputError("--momentum", "adamw has none", "use --beta1, or leave it out");
  }
  if (!network.sparsify.reuses() && spec.given.contains("sparsify-warmup"))
    throw InputError("--sparsify-warmup", "only resprop has a warm-up", "leave it out, or use --warmup");
}

void settle(TrainSpec& spec, std::int64_t epoch) {
  TrainOptions& training = spec.training;
  const OptimizerKind& optimizer = kOptimizers[training.optimizer.kind];
  if (!spec.given.contains("lr")) training.schedule.rate = optimizer.rate;
  if (!spec.given.contains("weight-decay")) training.optimizer.weight_decay = optimizer.weight_decay;
  std::int64_t& steps = training.steps;
  if (steps == 0) steps = std::max<std::int64_t>(1, std::llround(spec.epochs * static_cast<double>(epoch)));
  if (spec.network.sparsify.reuses() && spec.network.sparsify.warmup < 0)
    spec.network.sparsify.warmup = steps / 10;
  if (training.schedule.warmup < 0) training.schedule.warmup = steps / 20;
  training.pruning.seed = training.seed;
  if (training.pruning.until == 0) training.pruning.until = steps * 3 / 4;
  spec.network.pruned = spec.prunes();
  if (spec.report_every == 0) spec.report_every = std::min(epoch, std::max<std::int64_t>(1, steps / 10));
  for (std::int64_t* every : {&spec.test_every, &spec.checkpoint_every})
    if (*every == 0) *every = std::max(epoch, spec.report_every);
  // For results that must be bit-reproducible: with kernels that are not chosen by timings, and in
  // traces. Winograd turns sums of nothing but zeros into small numbers, and the zeros are what a trace is
  // for.
  if (!spec.exact)
    spec.exact =
        spec.record_every > 0 || !spec.record_steps.empty() || spec.network.kernels != Kernels::kAuto;
  spec.network.allow_winograd = !*spec.exact;
}

Settings checkpoint_settings(const TrainSpec& spec) {
  Settings settings;
  for (const TrainOption& option : train_options()) {
    if (option.checkpoint.empty()) continue;
    const std::string value = option.get(spec).value_or("none");
    const std::string text = option.checkpoint_text != nullptr ? option.checkpoint_text(spec)
                             : option.is_flag()                ? (value == "on" ? "yes" : "no")
                                                               : value;
    settings.push_back({option.checkpoint, text, option.newer ? option.spec.default_value : ""});
  }
  return settings;
}

ModelSettings fit_model(const std::string& model, const std::vector<std::string>& assignments,
                        const dataset::Dataset& data) {
  constexpr int kSmallImages = 64;
  ModelSettings settings;
  for (const std::string& text : assignments) {
    const auto [key, value] = split_assignment(text, "--set");
    settings[key] = value;
  }
  const dataset::ImageShape image = data.shape();
  settings.try_emplace("size", std::to_string(image.height));
  settings.try_emplace("channels", std::to_string(image.channels));
  settings.try_emplace("classes", std::to_string(data.classes().size()));
  const ModelSummary summary = summarize_model(model_text(model), model);
  for (const ModelParameter& parameter : summary.parameters)
    if (parameter.name == "stem" && image.height <= kSmallImages) settings.try_emplace("stem", "cifar");
  return settings;
}

std::string describe_settings(const ModelSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

}  // namespace lacuna::train
