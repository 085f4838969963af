#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/quote.hpp"
#include "report/result_json.hpp"
#include "trace/safetensors.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::string_view kRemedy = "write it again with 'lacuna simulate --json'";

// An object of the file and its place, for messages: "a.json: run 2: layer 'conv1'".
class Reader {
 public:
  Reader(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value_.is_object()) fail("it is not an object");
  }

  [[noreturn]] void fail(std::string_view cause) const { throw InputError(place_, cause, kRemedy); }
  const std::string& place() const { return place_; }

  const json* find(const char* key) const {
    const auto at = value_.find(key);
    return at == value_.end() ? nullptr : &*at;
  }
  const json& get(const char* key) const {
    const json* found = find(key);
    if (found == nullptr) fail(fmt::format("'{}' is missing", key));
    return *found;
  }
  Reader object(const char* key) const { return {get(key), fmt::format("{}: '{}'", place_, key)}; }

  std::string text(const char* key) const {
    const json& value = get(key);
    if (!value.is_string()) fail(fmt::format("'{}' is not text", key));
    return value.get<std::string>();
  }
  std::string text_or_empty(const char* key) const { return find(key) == nullptr ? "" : text(key); }

  std::int64_t count(const char* key) const { return count(get(key), key); }
  std::int64_t count(const json& value, std::string_view key) const {
    if (!value.is_number_integer()) fail(fmt::format("{} is not an integer", quote_name(key)));
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
      fail(fmt::format("{} is too large", quote_name(key)));
    }
    if (value.get<std::int64_t>() < 0) fail(fmt::format("{} is negative", quote_name(key)));
    return value.get<std::int64_t>();
  }

  double number(const char* key) const {
    const json& value = get(key);
    if (!value.is_number()) fail(fmt::format("'{}' is not a number", key));
    return value.get<double>();
  }
  std::optional<double> number_if_there(const char* key) const {
    if (find(key) == nullptr) return std::nullopt;
    return number(key);
  }
  const json& list(const char* key) const {
    const json& value = get(key);
    if (!value.is_array()) fail(fmt::format("'{}' is not a list", key));
    return value;
  }

  // One of a set of words, through the function that names them.
  template <typename Enum, std::size_t N>
  Enum word(const char* key, const std::array<Enum, N>& all, std::string_view (*name)(Enum)) const {
    const std::string found = text(key);
    for (const Enum value : all) {
      if (name(value) == found) return value;
    }
    fail(fmt::format("'{}' is {}, which is not known", key, quote_name(found)));
  }

 private:
  const json& value_;
  std::string place_;
};

std::vector<ConfigValue> read_config(const Reader& run) {
  const json& config = run.get("config");
  if (!config.is_object()) run.fail("'config' is not an object");
  std::vector<ConfigValue> values;
  for (const auto& [name, value] : config.items()) {
    if (value.is_string()) {
      values.push_back({name, value.get<std::string>(), ParamSpec::Kind::kText});
    } else if (value.is_boolean()) {
      values.push_back({name, value.get<bool>() ? "on" : "off", ParamSpec::Kind::kFlag});
    } else if (value.is_number_integer()) {
      values.push_back({name, value.dump(), ParamSpec::Kind::kInteger});
    } else if (value.is_number()) {
      values.push_back({name, fmt::format("{}", value.get<double>()), ParamSpec::Kind::kNumber});
    } else {
      run.fail(fmt::format("'config': {} is neither a number nor text nor a flag", quote_name(name)));
    }
  }
  return values;
}

Activity read_activity(const Reader& source) {
  Activity activity;
  activity.bound = source.word("bound", kBounds, bound_name);
  activity.dense_bound = source.word("dense_bound", kBounds, bound_name);
  const auto count = [&](const std::string& name) { return source.count(name.c_str()); };
  for (const auto& [name, field] : kActivityCounts) activity.*field = count(std::string(name));
  for (const auto& [name, field] : kTrafficCounts) {
    activity.samples.*field = count(fmt::format("samples_{}", name));
    activity.weights.*field = count(fmt::format("weights_{}", name));
  }
  return activity;
}

OpResult read_op(const Reader& source) {
  static constexpr std::array kScheduled{Scheduled::kA, Scheduled::kW, Scheduled::kG, Scheduled::kBoth,
                                         Scheduled::kNone};
  OpResult op;
  op.op = source.word("op", kOperations, operation_name);
  op.scheduled = source.word("scheduled", kScheduled, scheduled_name);
  op.macs = source.count("macs");
  op.scheduled_macs = source.count("scheduled_macs");
  op.effectual_macs = source.count("effectual_macs");
  op.dense_cycles = source.count("dense_cycles");
  op.cycles = source.count("cycles");
  op.padding_free_cycles = source.count("padding_free_cycles");
  if (const json* counters = source.find("counters")) {
    if (!counters->is_object()) source.fail("'counters' is not an object");
    for (const auto& [name, value] : counters->items())
      op.counters.push_back({name, source.count(value, name)});
  }
  if (source.find("activity") != nullptr) op.activity = read_activity(source.object("activity"));
  return op;
}

LayerResult read_layer(const Reader& source) {
  LayerResult layer{source.text("name"), source.text("shape"), source.number("batch_scale"), {}};
  if (layer.batch_scale < 0) source.fail("'batch_scale' is negative");
  const json& ops = source.list("ops");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    layer.ops.push_back(read_op(Reader(ops[i], fmt::format("{}: operation {}", source.place(), i + 1))));
    for (std::size_t j = 0; j < i; ++j) {
      if (layer.ops[j].op == layer.ops[i].op) source.fail("an operation is there twice");
    }
  }
  return layer;
}

void check_totals(const Reader& run, const Totals& computed) {
  const Reader total = run.object("total");
  const auto check = [&](const char* name, const CyclePair& pair) {
    const Reader noted = total.object(name);
    if (noted.number("dense_cycles") != pair.dense_cycles || noted.number("cycles") != pair.cycles) {
      noted.fail("its cycles are not the sum of the layers'");
    }
  };
  check("forward", computed.forward);
  check("input_grad", computed.input_grad);
  check("weight_grad", computed.weight_grad);
  check("all", computed.all);
}

std::optional<StoredEnergy> read_energy(const Reader& run) {
  if (run.find("energy") == nullptr) return std::nullopt;
  const Reader source = run.object("energy");
  StoredEnergy energy;
  energy.table = source.text("table");
  energy.node_nm = source.number("node_nm");
  const auto joules = [&](const char* name) {
    const Reader pair = source.object(name);
    const auto total = [&](const char* side) {
      const Reader of = pair.object(side);
      const double value = of.number("total");
      if (!std::isfinite(value) || value < 0) of.fail("'total' is not a number from 0");
      return value;
    };
    return StoredEnergy::Joules{total("dense"), total("machine")};
  };
  for (const Operation op : kOperations)
    energy.by_operation[static_cast<std::size_t>(op)] = joules(std::string(operation_name(op)).c_str());
  energy.all = joules("all");
  return energy;
}

RunResult read_run(const Reader& source) {
  RunResult run;
  run.trace = source.text("trace");
  run.info.model = source.text("model");
  run.info.dataset = source.text_or_empty("dataset");
  run.info.progress = source.number_if_there("progress");
  run.info.epoch = source.number_if_there("epoch");
  run.info.accuracy = source.number_if_there("accuracy");
  run.info.loss = source.number_if_there("loss");
  if (source.find("samples") != nullptr) run.info.samples = source.count("samples");
  run.batch = source.count("batch");
  run.arch = source.text("arch");
  run.base = source.text("base");
  run.engine = source.text("engine");
  const json& seed = source.get("seed");
  if (!seed.is_number_unsigned()) source.fail("'seed' is not an integer from 0");
  run.seed = seed.get<std::uint64_t>();
  run.config = read_config(source);
  const json& layers = source.list("layers");
  std::set<std::string> names;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    run.layers.push_back(read_layer(Reader(layers[i], fmt::format("{}: layer {}", source.place(), i + 1))));
    if (!names.insert(run.layers.back().name).second) {
      source.fail(fmt::format("layer {} is there twice", quote_name(run.layers.back().name)));
    }
  }
  check_totals(source, run.total());
  return run;
}

}  // namespace

ResultFile parse_results_json(std::string_view text, const std::string& where) {
  const json root = parse_untrusted_json(text, where, "the file");
  const Reader file(root, where);
  if (const json* schema = file.find("schema"); schema == nullptr) {
    file.fail("this is not a result of lacuna: 'schema' is missing");
  } else if (*schema != kResultSchema) {
    throw InputError(
        where,
        fmt::format("its schema is {}, this program reads {}", quote_name(schema->dump()), kResultSchema),
        "use the version of lacuna that wrote it, or write it again");
  }
  ResultFile result;
  result.lacuna = file.text("lacuna");
  const json& runs = file.list("runs");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Reader run(runs[i], fmt::format("{}: run {}", where, i + 1));
    result.runs.push_back(read_run(run));
    result.energies.push_back(read_energy(run));
  }
  return result;
}

}  // namespace lacuna
