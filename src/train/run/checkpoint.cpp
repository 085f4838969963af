#include "train/run/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"
#include "base/io/safetensors.hpp"
#include "base/io/untrusted_json.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"

namespace lacuna::train {
namespace {

constexpr const char* kFormat = "lacuna-checkpoint";
constexpr const char* kVersion = "2";
constexpr const char* kNothing = "(nothing)";
constexpr const char* kAgain = "use an earlier checkpoint or start again without --resume";

// One tensor of the file and where its bytes are in memory.
struct Item : SafetensorsItem {
  std::uint8_t* data;
  std::span<const std::uint8_t> span() const { return {data, bytes}; }
};

std::vector<Item> items_of(const TrainingState& state) {
  std::vector<Item> items;
  const auto floats = [&](const std::string& prefix, const Parameter& parameter, AlignedFloats& values) {
    items.push_back({{prefix + parameter.name, "F32", parameter.dims,
                      static_cast<std::size_t>(values.size()) * sizeof(float)},
                     reinterpret_cast<std::uint8_t*>(values.data())});
  };
  for (Parameter* parameter : state.parameters) floats("", *parameter, parameter->value);
  for (Optimizer::State& kept : state.optimizer.states())
    for (std::size_t i = 0; i < kept.tensors.size(); ++i)
      floats(kept.name + "/", *state.optimizer.learnt()[i], kept.tensors[i]);
  if (state.pruning != nullptr)
    for (Pruning::Layer& layer : state.pruning->layers()) {
      const Parameter& parameter = *state.optimizer.learnt()[layer.parameter];
      items.push_back(
          {{"alive/" + parameter.name, "U8", parameter.dims, layer.alive.size()}, layer.alive.data()});
    }
  return items;
}

// The metadata whose damage would not be noticed otherwise, and the tensors. `text` gives the metadata of a
// key, empty if there is none.
template <typename Text, typename Tensors>
std::string checksum_of(const Text& text, const Tensors& tensors) {
  std::uint64_t hash = 1;
  for (const char* key : {"step", "line", "settings", "threshold"}) hash = hash * 31 + hash_text(text(key));
  for (const auto& tensor : tensors) hash = hash_bytes(tensor, hash);
  return fmt::format("{:016x}", hash);
}

// A state with NaN or infinite values must not replace a good checkpoint.
void check_finite(const std::vector<Item>& items) {
  for (const Item& item : items) {
    if (item.dtype != "F32") continue;
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
  nlohmann::ordered_json metadata{{"format", kFormat},
                                  {"version", kVersion},
                                  {"step", std::to_string(state.step)},
                                  {"line", line_text(state.line)},
                                  {"settings", settings_json(settings).dump()}};
  if (state.pruning != nullptr) metadata["threshold"] = fmt::format("{:a}", state.pruning->threshold());
  std::vector<std::span<const std::uint8_t>> tensors;
  for (const Item& item : items) tensors.push_back(item.span());
  metadata["checksum"] = checksum_of([&](const char* key) { return metadata.value(key, ""); }, tensors);
  return safetensors_start(metadata, {items.begin(), items.end()});
}

// Without pruning ("0 ...") its parameters decide nothing; the last step of it follows the number of steps.
// Checkpoints of earlier versions do not mention what those could not do.
bool same_setting(const std::string& key, const std::string& a, const std::string& b) {
  return a == b || (key == "prune" && a.starts_with("0 ") && b.starts_with("0 ")) ||
         (a == kNothing && b == "none");
}

std::optional<double> real_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

// The tensors and metadata of a file, checked as they are read.
class CheckpointReader {
 public:
  CheckpointReader(std::span<const std::uint8_t> bytes, std::string where)
      : file_(Safetensors::parse(bytes, where)), where_(std::move(where)) {
    for (const SafetensorsEntry& entry : file_.tensors) entries_[entry.name] = &entry;
  }

  const std::vector<SafetensorsEntry>& tensors() const { return file_.tensors; }

  const std::string& metadata(const char* key) const {
    const auto found = file_.metadata.find(key);
    if (found == file_.metadata.end())
      fail(fmt::format("its metadata has no '{}'", key), "give a checkpoint that lacuna train wrote");
    return found->second;
  }
  bool is_checkpoint() const {
    const auto found = file_.metadata.find("format");
    return found != file_.metadata.end() && found->second == kFormat;
  }
  void check_version() const {
    if (metadata("format") != kFormat || metadata("version") != kVersion)
      fail("not a checkpoint of this version", "give a checkpoint that this version of lacuna train wrote");
  }

  void check_settings(const Settings& settings) const {
    const nlohmann::json then = parse_untrusted_json(metadata("settings"), where_, "'settings'");
    for (const auto& [key, value, assumed] : settings) {
      const auto found = then.find(key);
      const std::string before = found != then.end() && found->is_string() ? found->get<std::string>()
                                 : assumed.empty()                         ? kNothing
                                                                           : assumed;
      if (!same_setting(key, before, value))
        fail(fmt::format("its run had {}={}, this one has {}", key, quote_name(before), quote_name(value)),
             "give the same options, or start again without --resume");
    }
  }

  const SafetensorsEntry& entry(const std::string& name, const std::vector<std::int64_t>& shape,
                                std::string_view dtype, const char* remedy) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) fail(fmt::format("there is no tensor {}", quote_name(name)), remedy);
    const SafetensorsEntry& entry = *found->second;
    if (entry.shape != shape || entry.dtype != dtype)
      fail(fmt::format("tensor {} is {} {}, the network needs {} {}", quote_name(name), entry.dtype,
                       shape_text(entry.shape), dtype, shape_text(shape)),
           remedy);
    return entry;
  }

  std::int64_t step() const {
    const auto step = parse_number<std::int64_t>(metadata("step"));
    if (!step || *step < 0) wrong("step");
    return *step;
  }

  LineSums line() const {
    std::istringstream text(metadata("line"));
    std::vector<std::string> fields;
    for (std::string field; std::getline(text, field, ' ');) fields.push_back(field);
    if (fields.size() != 3 && fields.size() != 6) wrong("line");
    const auto steps = parse_number<std::int64_t>(fields[0]);
    const auto correct = parse_number<std::int64_t>(fields[1]);
    std::vector<double> reals;
    for (std::size_t i = 2; i < fields.size(); ++i)
      if (const auto real = real_of(fields[i])) reals.push_back(*real);
    if (!steps || *steps < 0 || !correct || *correct < 0 || reals.size() != fields.size() - 2) wrong("line");
    LineSums line{*steps, *correct, reals[0]};
    if (reals.size() > 1) line.untested = {reals[1], reals[2], reals[3]};
    return line;
  }

  double threshold() const {
    const auto value = real_of(metadata("threshold"));
    if (!value || !(*value > 0)) wrong("threshold");
    return *value;
  }

  // Other bytes than 0 and 1 would count as alive in some places and not in others.
  std::int64_t count_alive(const SafetensorsEntry& entry) const {
    std::int64_t count = 0;
    for (const std::uint8_t byte : entry.data) {
      if (byte > 1) fail(fmt::format("tensor {} holds a {}", quote_name(entry.name), byte), kAgain);
      count += byte;
    }
    return count;
  }

  // `tensors`: in the order in which they were written.
  void check_checksum(const std::vector<std::span<const std::uint8_t>>& tensors) const {
    const std::string& expected = metadata("checksum");
    const auto text = [&](const char* key) {
      const auto at = file_.metadata.find(key);
      return at == file_.metadata.end() ? std::string() : at->second;
    };
    if (checksum_of(text, tensors) != expected) fail("its checksum does not match its content", kAgain);
  }

 private:
  [[noreturn]] void fail(std::string_view cause, std::string_view remedy) const {
    throw InputError(where_, cause, remedy);
  }
  [[noreturn]] void wrong(const char* key) const {
    fail(fmt::format("its {} is {}", key, quote_name(metadata(key))), kAgain);
  }

  Safetensors file_;
  std::string where_;
  std::map<std::string, const SafetensorsEntry*> entries_;
};

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                      const Settings& settings) {
  const std::vector<Item> items = items_of(state);
  check_finite(items);
  const std::string start = start_of(items, state, settings);
  OutputFile file(path, OutputFile::Links::kRefuse);
  file.write(start);
  for (const Item& item : items) file.write(item.data, item.bytes);
  file.commit();
}

void parse_checkpoint(std::span<const std::uint8_t> bytes, const std::string& where, TrainingState& state,
                      const Settings& settings) {
  const CheckpointReader file(bytes, where);
  file.check_version();
  file.check_settings(settings);
  const std::vector<Item> items = items_of(state);
  std::vector<std::span<const std::uint8_t>> tensors;
  std::vector<const SafetensorsEntry*> alive;
  for (const Item& item : items) {
    const SafetensorsEntry& entry =
        file.entry(item.name, item.shape, item.dtype,
                   "this checkpoint belongs to another network; give its --model and settings");
    tensors.push_back(entry.data);
    if (item.dtype == "U8") alive.push_back(&entry);
  }
  const std::int64_t step = file.step();
  const LineSums line = file.line();
  const double threshold = state.pruning != nullptr ? file.threshold() : 0;
  std::vector<std::int64_t> counts;
  for (const SafetensorsEntry* entry : alive) counts.push_back(file.count_alive(*entry));
  file.check_checksum(tensors);
  // Nothing can fail from here on.
  for (std::size_t i = 0; i < items.size(); ++i) std::ranges::copy(tensors[i], items[i].data);
  state.step = step;
  state.line = line;
  if (state.pruning == nullptr) return;
  state.pruning->threshold() = threshold;
  for (std::size_t l = 0; l < counts.size(); ++l) state.pruning->layers()[l].count = counts[l];
  state.pruning->publish();
}

void read_checkpoint(const std::filesystem::path& path, TrainingState& state, const Settings& settings) {
  const auto source = ByteSource::open(path);
  release_input_file(path);  // the run saves there
  parse_checkpoint(source->bytes(), path.string(), state, settings);
}

namespace {

// Throws InputError for a checkpoint that was changed, and for values that no training can start from.
void check_parameters(const CheckpointReader& file, const std::filesystem::path& path) {
  if (file.is_checkpoint()) {
    std::vector<std::span<const std::uint8_t>> tensors;
    for (const SafetensorsEntry& entry : file.tensors()) tensors.push_back(entry.data);
    file.check_checksum(tensors);
  }
  for (const SafetensorsEntry& entry : file.tensors()) {
    if (entry.dtype != "F32") continue;
    for (std::size_t at = 0; at + sizeof(float) <= entry.data.size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, entry.data.data() + at, sizeof value);
      if (!std::isfinite(value))
        throw InputError(path.string(), fmt::format("{} holds a {}", quote_name(entry.name), value),
                         "give the parameters of a training that went well");
    }
  }
}

}  // namespace

void check_parameters(const std::filesystem::path& path) {
  const auto source = ByteSource::open(path);
  check_parameters(CheckpointReader(source->bytes(), path.string()), path);
}

void load_parameters(const std::filesystem::path& path, const std::vector<Parameter*>& parameters) {
  const auto source = ByteSource::open(path);
  const CheckpointReader file(source->bytes(), path.string());
  check_parameters(file, path);
  std::vector<std::pair<Parameter*, const SafetensorsEntry*>> found;
  for (Parameter* parameter : parameters)
    if (parameter->kind != Parameter::Kind::kState)
      found.emplace_back(parameter,
                         &file.entry(parameter->name, parameter->dims, "F32",
                                     "the file belongs to another network; give its --model and settings"));
  for (const auto& [parameter, entry] : found)
    std::ranges::copy(entry->data, reinterpret_cast<std::uint8_t*>(parameter->value.data()));
}

}  // namespace lacuna::train
