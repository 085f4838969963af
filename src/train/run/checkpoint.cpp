#include "train/run/checkpoint.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/output_file.hpp"
#include "base/io/safetensors.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/quote.hpp"

namespace lacuna::train {
namespace {

constexpr const char* kFormat = "lacuna-checkpoint";
constexpr const char* kVersion = "2";
constexpr const char* kNothing = "(nothing)";
constexpr const char* kAgain = "use an earlier checkpoint or start again without --resume";

// One tensor of the file and where its bytes are in memory.
struct Item {
  std::string name;
  std::vector<std::int64_t> shape;
  const char* dtype = "F32";
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;

  std::span<const std::uint8_t> span() const { return {data, bytes}; }
};

std::vector<Item> items_of(const TrainingState& state) {
  std::vector<Item> items;
  const auto floats = [&](const std::string& prefix, const Parameter& parameter, AlignedFloats& values) {
    items.push_back({prefix + parameter.name, parameter.dims, "F32",
                     reinterpret_cast<std::uint8_t*>(values.data()),
                     static_cast<std::size_t>(values.size()) * sizeof(float)});
  };
  for (Parameter* parameter : state.parameters) floats("", *parameter, parameter->value);
  for (Optimizer::State& kept : state.optimizer.states())
    for (std::size_t i = 0; i < kept.tensors.size(); ++i)
      floats(kept.name + "/", *state.optimizer.learnt()[i], kept.tensors[i]);
  if (state.pruning != nullptr)
    for (Pruning::Layer& layer : state.pruning->layers()) {
      const Parameter& parameter = *state.optimizer.learnt()[layer.parameter];
      items.push_back(
          {"alive/" + parameter.name, parameter.dims, "U8", layer.alive.data(), layer.alive.size()});
    }
  return items;
}

// Metadata whose damage would not be noticed otherwise, in the order of the checksum.
constexpr std::array<const char*, 4> kChecked = {"step", "line", "settings", "threshold"};

// `text` gives the metadata of a key, empty if there is none.
template <typename Text>
std::string checksum_of(const std::vector<std::span<const std::uint8_t>>& parts, const Text& text) {
  std::uint64_t hash = 1;
  for (const char* key : kChecked) hash = hash * 31 + hash_text(text(key));
  for (const auto& part : parts) hash = hash_bytes(part, hash);
  return fmt::format("{:016x}", hash);
}

void check_checksum(const Safetensors& file, const std::vector<std::span<const std::uint8_t>>& parts,
                    const std::string& expected, const std::string& where) {
  const std::string found = checksum_of(parts, [&](const char* key) {
    const auto at = file.metadata.find(key);
    return at == file.metadata.end() ? std::string() : at->second;
  });
  if (found != expected) throw InputError(where, "its checksum does not match its content", kAgain);
}

// A state with NaN or infinite values must not replace a good checkpoint.
void check_finite(const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (std::strcmp(item.dtype, "F32") != 0) continue;
    const auto* values = reinterpret_cast<const float*>(item.data);
    for (std::size_t i = 0; i < item.bytes / sizeof(float); ++i)
      if (!std::isfinite(values[i]))
        throw InputError("training", fmt::format("{} holds a {}", quote_name(item.name), values[i]),
                         "lower --lr or add --warmup; the last checkpoint is untouched");
  }
}

nlohmann::ordered_json settings_json(const Settings& settings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value, assumed] : settings)
    if (assumed.empty() || value != assumed) json[key] = value;
  return json;
}

// "STEPS CORRECT LOSS", and for a line that waits for its test "ZEROS_A ZEROS_G IMAGES_PER_SECOND"
std::string line_text(const LineSums& line) {
  std::string text = fmt::format("{} {} {:a}", line.steps, line.correct, line.loss);
  if (line.untested)
    text += fmt::format(" {:a} {:a} {:a}", line.untested->activation_zeros, line.untested->gradient_zeros,
                        line.untested->images_per_second);
  return text;
}

std::string start_of(const std::vector<Item>& items, const TrainingState& state, const Settings& settings) {
  std::vector<std::span<const std::uint8_t>> parts;
  parts.reserve(items.size());
  for (const Item& item : items) parts.push_back(item.span());
  nlohmann::ordered_json metadata{{"format", kFormat},
                                  {"version", kVersion},
                                  {"step", std::to_string(state.step)},
                                  {"line", line_text(state.line)},
                                  {"settings", settings_json(settings).dump()}};
  if (state.pruning != nullptr) metadata["threshold"] = fmt::format("{:a}", state.pruning->threshold());
  metadata["checksum"] = checksum_of(parts, [&](const char* key) {
    return metadata.contains(key) ? metadata[key].get<std::string>() : std::string();
  });
  std::vector<SafetensorsItem> tensors;
  tensors.reserve(items.size());
  for (const Item& item : items) tensors.push_back({item.name, item.dtype, item.shape, item.bytes});
  return safetensors_start(metadata, tensors);
}

const std::string& metadata(const Safetensors& file, const char* key, const std::string& where) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw InputError(where, fmt::format("its metadata has no '{}'", key),
                     "give a checkpoint that lacuna train wrote");
  return found->second;
}

// Without pruning ("0 ...") its parameters decide nothing; the last step of it follows the number of steps.
// Checkpoints of earlier versions do not mention what those could not do.
bool same_setting(const std::string& key, const std::string& a, const std::string& b) {
  return a == b || (key == "prune" && a.starts_with("0 ") && b.starts_with("0 ")) ||
         (a == kNothing && b == "none");
}

void check_settings(const Safetensors& file, const std::string& where, const Settings& settings) {
  const nlohmann::json then = parse_untrusted_json(metadata(file, "settings", where), where, "'settings'");
  for (const auto& [key, value, assumed] : settings) {
    const auto found = then.find(key);
    const std::string before = found != then.end() && found->is_string() ? found->get<std::string>()
                               : assumed.empty()                         ? kNothing
                                                                         : assumed;
    if (!same_setting(key, before, value))
      throw InputError(
          where,
          fmt::format("its run had {}={}, this one has {}", key, quote_name(before), quote_name(value)),
          "give the same options, or start again without --resume");
  }
}

// Numbers as write_checkpoint() writes them; nothing if `text` is anything else.
std::optional<std::int64_t> natural_of(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}
std::optional<double> real_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::int64_t step_of(const Safetensors& file, const std::string& where) {
  const std::string& text = metadata(file, "step", where);
  const auto step = natural_of(text);
  if (!step) throw InputError(where, fmt::format("its step is {}", quote_name(text)), kAgain);
  return *step;
}

LineSums line_of(const Safetensors& file, const std::string& where) {
  const std::string& text = metadata(file, "line", where);
  std::vector<std::string> fields(1);
  for (const char c : text) {
    if (c == ' ')
      fields.emplace_back();
    else
      fields.back() += c;
  }
  if (fields.size() == 3 || fields.size() == 6) {
    const auto steps = natural_of(fields[0]);
    const auto correct = natural_of(fields[1]);
    std::vector<double> reals;
    for (std::size_t i = 2; i < fields.size(); ++i)
      if (const auto real = real_of(fields[i])) reals.push_back(*real);
    if (steps && correct && reals.size() == fields.size() - 2) {
      LineSums line{*steps, *correct, reals[0]};
      if (reals.size() > 1) line.untested = {reals[1], reals[2], reals[3]};
      return line;
    }
  }
  throw InputError(where, fmt::format("its line is {}", quote_name(text)), kAgain);
}

double threshold_of(const Safetensors& file, const std::string& where) {
  const std::string& text = metadata(file, "threshold", where);
  const auto value = real_of(text);
  if (!value || !(*value > 0))
    throw InputError(where, fmt::format("its threshold is {}", quote_name(text)), kAgain);
  return *value;
}

const SafetensorsEntry& entry_of(const std::map<std::string, const SafetensorsEntry*>& entries,
                                 const std::string& name, const std::vector<std::int64_t>& shape,
                                 const char* dtype, const std::string& where, const char* remedy) {
  const auto found = entries.find(name);
  if (found == entries.end())
    throw InputError(where, fmt::format("there is no tensor {}", quote_name(name)), remedy);
  const SafetensorsEntry& entry = *found->second;
  if (entry.shape != shape || entry.dtype != dtype)
    throw InputError(where,
                     fmt::format("tensor {} is {} {}, the network needs {} {}", quote_name(name), entry.dtype,
                                 shape_text(entry.shape), dtype, shape_text(shape)),
                     remedy);
  return entry;
}

std::map<std::string, const SafetensorsEntry*> by_name(const Safetensors& file) {
  std::map<std::string, const SafetensorsEntry*> entries;
  for (const SafetensorsEntry& entry : file.tensors) entries[entry.name] = &entry;
  return entries;
}

// Other bytes than 0 and 1 would count as alive in some places and not in others.
std::int64_t count_alive(const SafetensorsEntry& entry, const std::string& where) {
  std::int64_t count = 0;
  for (const std::uint8_t byte : entry.data) {
    if (byte > 1)
      throw InputError(where, fmt::format("tensor {} holds a {}", quote_name(entry.name), byte), kAgain);
    count += byte;
  }
  return count;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                      const Settings& settings) {
  const std::vector<Item> items = items_of(state);
  check_finite(items);
  const std::string start = start_of(items, state, settings);
  OutputFile file(path);
  file.write(start);
  for (const Item& item : items) file.write(item.data, item.bytes);
  file.commit();
}

void parse_checkpoint(std::span<const std::uint8_t> bytes, const std::string& where, TrainingState& state,
                      const Settings& settings) {
  const Safetensors file = Safetensors::parse(bytes, where);
  if (metadata(file, "format", where) != kFormat || metadata(file, "version", where) != kVersion)
    throw InputError(where, "not a checkpoint of this version",
                     "give a checkpoint that this version of lacuna train wrote");
  check_settings(file, where, settings);
  const auto entries = by_name(file);
  std::vector<Item> items = items_of(state);
  std::vector<const SafetensorsEntry*> found;
  std::vector<std::span<const std::uint8_t>> parts;
  for (const Item& item : items) {
    found.push_back(&entry_of(entries, item.name, item.shape, item.dtype, where,
                              "this checkpoint belongs to another network; give its --model and settings"));
    parts.push_back(found.back()->data);
  }
  const std::int64_t step = step_of(file, where);
  const LineSums line = line_of(file, where);
  const double threshold = state.pruning != nullptr ? threshold_of(file, where) : 0;
  std::vector<std::int64_t> alive;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (std::strcmp(items[i].dtype, "U8") == 0) alive.push_back(count_alive(*found[i], where));
  check_checksum(file, parts, metadata(file, "checksum", where), where);
  // Nothing can fail from here on.
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].bytes > 0) std::memcpy(items[i].data, found[i]->data.data(), items[i].bytes);
  state.step = step;
  state.line = line;
  if (state.pruning == nullptr) return;
  state.pruning->threshold() = threshold;
  for (std::size_t l = 0; l < alive.size(); ++l) state.pruning->layers()[l].count = alive[l];
  state.pruning->publish();
}

void read_checkpoint(const std::filesystem::path& path, TrainingState& state, const Settings& settings) {
  const auto source = ByteSource::open(path);
  parse_checkpoint(source->bytes(), path.string(), state, settings);
}

void load_parameters(const std::filesystem::path& path, const std::vector<Parameter*>& parameters) {
  const auto source = ByteSource::open(path);
  const Safetensors file = Safetensors::parse(source->bytes(), path.string());
  const auto entries = by_name(file);
  const bool checkpoint = file.metadata.contains("format") && file.metadata.at("format") == kFormat;
  if (checkpoint) {
    // Tensors lie in the file in the order in which they were written.
    std::vector<std::span<const std::uint8_t>> parts;
    parts.reserve(file.tensors.size());
    for (const SafetensorsEntry& entry : file.tensors) parts.push_back(entry.data);
    check_checksum(file, parts, metadata(file, "checksum", path.string()), path.string());
  }
  std::vector<const SafetensorsEntry*> found;
  std::vector<Parameter*> wanted = parameters;
  std::erase_if(wanted, [](const Parameter* p) { return p->kind == Parameter::Kind::kState; });
  found.reserve(wanted.size());
  for (const Parameter* parameter : wanted)
    found.push_back(&entry_of(entries, parameter->name, parameter->dims, "F32", path.string(),
                              "the file belongs to another network; give its --model and settings"));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!found[i]->data.empty())
      std::memcpy(wanted[i]->value.data(), found[i]->data.data(), found[i]->data.size());
}

}  // namespace lacuna::train
