#include "cli/commands/train_resume.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/params.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "cli/commands/train_config.hpp"

namespace lacuna::cli {
namespace {

using nlohmann::json;

constexpr const char* kStartAgain = "restore the file, or give every option of the run again and remove it";

// Where config.json keeps what an option was.
struct Recorded {
  const char* option;
  const char* pointer;
  bool may_change = false;
};
constexpr Recorded kRecorded[] = {
    {"--model", "/model"},
    {"--init", "/init"},
    {"--data", "/data/set"},
    {"--size", "/data/size"},
    {"--train-size", "/data/train_size"},
    {"--test-size", "/data/test_size"},
    {"--flip", "/data/flip"},
    {"--crop", "/data/crop"},
    {"--batch", "/batch"},
    {"--lr", "/lr"},
    {"--schedule", "/schedule"},
    {"--warmup", "/warmup"},
    {"--momentum", "/momentum"},
    {"--weight-decay", "/weight_decay"},
    {"--seed", "/seed"},
    {"--prune", "/prune/method"},
    {"--prune-zeros", "/prune/zeros"},
    {"--prune-every", "/prune/every"},
    {"--prune-as-drawn", "/prune/as_drawn"},
    {"--prune-growth-steps", "/prune/growth_steps"},
    {"--sparsify", "/sparsify/method"},
    {"--density", "/sparsify/density"},
    {"--sparsify-warmup", "/sparsify/warmup"},
    {"--selective-backprop", "/selective_backprop"},
    {"--quantize", "/quantize"},
    {"--steps", "/steps", true},
    {"--threads", "/threads", true},
    {"--kernels", "/kernels", true},
    {"--precision", "/precision", true},
    {"--exact", "/exact", true},
    {"--report-every", "/report_every", true},
    {"--test-every", "/test_every", true},
    {"--checkpoint-every", "/checkpoint_every", true},
    {"--record", "/record_every", true},
    {"--samples", "/record_samples", true},
    {"--values", "/record_values", true},
};

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// 0.10 is 0.1.
bool same_value(const std::string& a, const std::string& b) {
  const auto x = parse_number<double>(a), y = parse_number<double>(b);
  return a == b || (x && y && *x == *y);
}

class TakenOver {
 public:
  TakenOver(CLI::App& command, TrainCommand& options, const json& config, std::string file)
      : command_(command), options_(options), config_(config), file_(std::move(file)) {}

  void apply() {
    for (const Recorded& recorded : kRecorded) apply(recorded);
    apply_settings();
    const json* until = find("/prune/until");
    if (until != nullptr && until->is_number_unsigned())
      options_.options.pruning.until = until->get<std::int64_t>();
  }

 private:
  const json* find(const char* pointer) const {
    const json::json_pointer at(pointer);
    return config_.contains(at) ? &config_[at] : nullptr;
  }

  bool is_null(const char* pointer) const { return find(pointer) != nullptr && find(pointer)->is_null(); }

  [[noreturn]] void contradiction(const std::string& given, const std::string& name,
                                  const std::string& was) const {
    throw InputError(given, fmt::format("the run in {} was started with {}", quote_name(options_.out), was),
                     fmt::format("leave out {} to continue it, or start another run (--out)", name));
  }

  void apply(const Recorded& recorded) {
    CLI::Option* const option = command_.get_option(recorded.option);
    const std::string name = recorded.option;
    // Either says how long the run is.
    const bool given = !option->empty() || (name == "--steps" && !command_.get_option("--epochs")->empty());
    if (given && recorded.may_change) return;
    const json* value = find(recorded.pointer);
    // Files of earlier versions do not mention what those could not do.
    const bool none = (name == "--prune" && is_null("/prune")) || (name == "--sparsify" && value == nullptr);
    if (none) {
      static const json kNone = "none";
      value = &kNone;
    }
    static const json kExact = true;  // those versions had no Winograd
    if (value == nullptr && name == "--exact") value = &kExact;
    if (value == nullptr) return;  // written by an older version, or of no use in that run
    if (value->is_boolean() || option->get_type_size() == 0) {
      if (!value->is_boolean()) wrong(name, "it is neither true nor false");
      if (given && !value->get<bool>()) contradiction(name, name, "out it");
      if (!given && value->get<bool>()) set(*option, "true");
      // Its default may be another one now, and the rounding of a run does not change in its middle.
      if (!given && !value->get<bool>() && name == "--exact") set(*option, "false");
      return;
    }
    const bool nothing = value->is_null() || (name == "--record" && *value == 0);
    if (nothing && given) contradiction(fmt::format("{} {}", name, option->results().back()), name, "out it");
    if (nothing) return;
    if (!value->is_string() && !value->is_number()) wrong(name, "it is neither text nor a number");
    if (!given) return set(*option, text_of(*value));
    if (!same_value(option->results().back(), text_of(*value)))
      contradiction(fmt::format("{} {}", name, option->results().back()), name, quote_name(text_of(*value)));
  }

  // The parameters of the model, as they were resolved.
  void apply_settings() {
    const json* settings = find("/model_settings");
    if (settings == nullptr) return;
    if (!settings->is_object()) wrong("model_settings", "it is not an object");
    for (const std::string& given : options_.setup.model_settings) {
      const auto [key, value] = split_assignment(given, "--set");
      const auto was = settings->find(key);
      if (was != settings->end() && !same_value(text_of(*was), value))
        contradiction("--set " + given, fmt::format("--set {}", key), quote_name(text_of(*was)));
    }
    for (const auto& [key, value] : settings->items())
      options_.setup.model_settings.push_back(fmt::format("{}={}", key, text_of(value)));
  }

  // As if it had been given.
  void set(CLI::Option& option, const std::string& value) const {
    try {
      option.add_result(value);
      option.run_callback();
    } catch (const CLI::ParseError& error) {
      wrong(option.get_name(), error.what());
    }
  }
  [[noreturn]] void wrong(const std::string& what, const std::string& cause) const {
    throw InputError(file_, fmt::format("what it says of {} is wrong: {}", what, cause), kStartAgain);
  }

  CLI::App& command_;
  TrainCommand& options_;
  const json& config_;
  std::string file_;
};

}  // namespace

void take_over_config(CLI::App& command, TrainCommand& options) {
  const std::filesystem::path file = std::filesystem::path(options.out) / "config.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return;
  const auto source = ByteSource::open(file);
  const auto bytes = source->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const json config = parse_untrusted_json(text, file.string(), "the configuration of the run");
  if (!config.is_object() || !config.contains("schema") || config["schema"] != kTrainConfigSchema)
    throw InputError(file.string(), "this is not the configuration of a training of this version",
                     kStartAgain);
  TakenOver(command, options, config, file.string()).apply();
}

}  // namespace lacuna::cli
