#include "train/run/run_config.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/input_files.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "base/version.hpp"

namespace lacuna::train {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kStartAgain = "restore the file, or give every option of the run again and remove it";

ordered_json value_json(const TrainOption& option, const TrainSpec& spec) {
  const std::string value = option.get(spec).value_or(option.spec.default_value);
  if (value.empty()) return nullptr;
  switch (option.spec.kind) {
    case ParamSpec::Kind::kInteger:
      return parse_number<std::uint64_t>(value).value();
    case ParamSpec::Kind::kNumber:
      return parse_number<double>(value).value();
    case ParamSpec::Kind::kFlag:
      return value == "on";
    case ParamSpec::Kind::kText:
      return value;
  }
  return nullptr;
}

// A method that is not used is null; the object of one that is used lists the options that are set.
void tidy_method(ordered_json& config, const char* method) {
  ordered_json& object = config[method];
  if (object["method"] == "none") {
    object = nullptr;
    return;
  }
  for (auto at = object.begin(); at != object.end();) {
    if (at->is_null())
      at = object.erase(at);
    else
      ++at;
  }
}

std::string text_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// 0.10 is 0.1.
bool same_value(const std::string& a, const std::string& b) {
  const auto x = parse_number<double>(a), y = parse_number<double>(b);
  return a == b || (x && y && *x == *y);
}

class Resumption {
 public:
  Resumption(TrainSpec& spec, const json& config, std::string file)
      : spec_(spec), given_(spec.given), config_(config), file_(std::move(file)) {}

  void apply() {
    for (const TrainOption& option : train_options())
      if (!option.config.empty()) apply(option);
    apply_settings();
  }

 private:
  const json* find(const std::string& pointer) const {
    const json::json_pointer at(pointer);
    return config_.contains(at) ? &config_[at] : nullptr;
  }

  // The value in the file as text: empty where the option was not set, nothing where the file does not say.
  std::optional<std::string> recorded(const TrainOption& option) const {
    const json* value = find(option.config);
    const json* parent = find(option.config.substr(0, option.config.rfind('/')));
    if (parent != nullptr && !parent->is_object() && !parent->is_null())
      wrong(option, "it should be in an object");
    const bool unused = value == nullptr && parent != nullptr && parent->is_null();
    if (unused && option.config.ends_with("/method")) return option.spec.default_value;
    if (unused) return std::nullopt;
    if (value == nullptr) return option.before;
    if (value->is_null()) return "";
    if (option.is_flag() && !value->is_boolean()) wrong(option, "it is neither true nor false");
    if (!value->is_boolean() && !value->is_string() && !value->is_number())
      wrong(option, "it is neither text nor a number");
    const std::string text = text_of(*value);
    // A default that cannot be given, such as 0 for no traces, stands for an option that was not set.
    return text == option.spec.default_value && !option.problem(text).empty() ? "" : text;
  }

  void apply(const TrainOption& option) {
    const std::string& name = option.spec.name;
    // Either says how long the run is.
    const bool given = given_.contains(name) || (name == "steps" && given_.contains("epochs"));
    if (given && option.may_change) return;
    const std::optional<std::string> was = recorded(option);
    if (!was) return;
    if (!given) {
      if (was->empty()) return;
      if (const std::string problem = option.problem(*was); !problem.empty())
        wrong(option, fmt::format("--{}: {}", name, problem));
      return option.give(spec_, *was);
    }
    const std::string now = option.get(spec_).value_or("");
    if (same_value(now, *was)) return;
    contradiction(option.is_flag() ? "--" + name : fmt::format("--{} {}", name, now), "--" + name,
                  was->empty() || option.is_flag() ? "without it" : "with " + quote_name(*was));
  }

  // The parameters of the model, as they were resolved.
  void apply_settings() {
    const json* settings = find("/model_settings");
    if (settings == nullptr) return;
    if (!settings->is_object())
      throw InputError(file_, "what it says of model_settings is wrong: it is not an object", kStartAgain);
    for (const std::string& given : spec_.model_settings) {
      const auto [key, value] = split_assignment(given, "--set");
      const auto was = settings->find(key);
      if (was != settings->end() && !same_value(text_of(*was), value))
        contradiction("--set " + given, fmt::format("--set {}", key), "with " + quote_name(text_of(*was)));
    }
    for (const auto& [key, value] : settings->items())
      spec_.model_settings.push_back(fmt::format("{}={}", key, text_of(value)));
  }

  [[noreturn]] void contradiction(const std::string& given, const std::string& name,
                                  const std::string& was) const {
    throw InputError(given, fmt::format("the run in {} was started {}", quote_name(spec_.out), was),
                     fmt::format("leave out {} to continue it, or start another run (--out)", name));
  }
  [[noreturn]] void wrong(const TrainOption& option, const std::string& cause) const {
    throw InputError(file_, fmt::format("what it says of --{} is wrong: {}", option.spec.name, cause),
                     kStartAgain);
  }

  TrainSpec& spec_;
  const std::set<std::string> given_;  // before this run's values were taken over
  const json& config_;
  std::string file_;
};

}  // namespace

std::string run_config_json(const TrainSpec& spec, const ModelSettings& model,
                            const dataset::DatasetPair& data, const Graph& graph,
                            const Settings& checkpoint) {
  ordered_json config{{"schema", kRunConfigSchema}, {"lacuna", version()}};
  for (const TrainOption& option : train_options())
    if (!option.config.empty()) config[ordered_json::json_pointer(option.config)] = value_json(option, spec);
  for (const char* method : {"prune", "sparsify"}) tidy_method(config, method);
  config["model_settings"] = model;
  for (const Setting& setting : checkpoint)
    if (setting.key == "network") config["network"] = setting.value;
  config["parameters"] = graph.parameters();
  const dataset::ImageShape image = data.train->shape();
  config["data"].update({{"name", data.train->name()},
                         {"train_images", data.train->size()},
                         {"test_images", data.test->size()},
                         {"channels", image.channels},
                         {"height", image.height},
                         {"width", image.width},
                         {"classes", data.train->classes().size()}});
  config["log"] = {{"file", "log.csv"}, {"schema", kTrainLogSchema}};
  if (spec.replaces_demo) config["demo"] = true;
  // The name of a file may hold any bytes.
  return config.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

// The content of the file, which the run replaces.
std::optional<json> read_config(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
  const auto source = ByteSource::open(file);
  release_input_file(file);
  return parse_untrusted_json(source->text(), file.string(), "the configuration of the run");
}

std::filesystem::path config_file(const std::filesystem::path& folder) { return folder / "config.json"; }

}  // namespace

bool is_demo(const std::filesystem::path& folder) {
  try {
    const std::optional<json> config = read_config(config_file(folder));
    return config && config->is_object() && config->value("demo", json()) == true;
  } catch (const InputError&) {  // whatever it is, no demo has written it
    return false;
  }
}

void take_over_config(TrainSpec& spec) {
  const std::filesystem::path file = config_file(spec.out);
  const std::optional<json> found = read_config(file);
  if (!found) return;
  const json& config = *found;
  if (!config.is_object() || !config.contains("schema") || config["schema"] != kRunConfigSchema)
    throw InputError(file.string(), "this is not the configuration of a training of this version",
                     kStartAgain);
  Resumption(spec, config, file.string()).apply();
}

}  // namespace lacuna::train
