#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/io/untrusted_json.hpp"
#include "report/result/json_reader.hpp"
#include "report/result/result_json.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

// How the schemas name what belongs to the baseline.
struct Names {
  const char* baseline;
  const char* cycles;
  const char* compute_cycles;
  const char* bound;
  bool in_activity;
};
constexpr Names kSchema1{"dense", "dense_cycles", "dense_compute_cycles", "dense_bound", true};
constexpr Names kSchema2{"baseline", "baseline_cycles", "baseline_compute_cycles", "baseline_bound", false};

constexpr std::string_view kRemedy = "write it again with 'lacuna simulate --json'";

std::vector<ConfigValue> read_config(const JsonReader& run) {
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

Activity read_activity(const JsonReader& source) {
  Activity activity;
  activity.bound = source.word("bound", kBounds, bound_name);
  const auto count = [&](const std::string& name) { return source.count(name.c_str()); };
  for (const auto& [name, field] : kActivityCounts) activity.*field = count(std::string(name));
  for (const auto& [name, field] : kTrafficCounts) {
    activity.samples.*field = count(fmt::format("samples_{}", name));
    activity.weights.*field = count(fmt::format("weights_{}", name));
  }
  return activity;
}

OpResult read_op(const JsonReader& source) {
  OpResult op;
  op.op = source.word("op", kOperations, operation_name);
  op.scheduled = source.word("scheduled", kScheduled, scheduled_name);
  op.macs = source.count("macs");
  op.scheduled_macs = source.count("scheduled_macs");
  op.effectual_macs = source.count("effectual_macs");
  op.cycles = source.count("cycles");
  if (const json* cycles = source.find("cycles_without_zeros"))  // not in schema 1
    op.cycles_without_zeros = source.count(*cycles, "cycles_without_zeros");
  if (const json* counters = source.find("counters")) {
    if (!counters->is_object()) source.fail("'counters' is not an object");
    for (const auto& [name, value] : counters->items())
      op.counters.push_back({name, source.count(value, name)});
  }
  if (source.find("activity") != nullptr) op.activity = read_activity(source.object("activity"));
  return op;
}

// What a file says of the baseline's operation: cycles, and what bounds them.
OpResult read_baseline_op(const JsonReader& source, const Names& names) {
  OpResult op;
  op.op = source.word("op", kOperations, operation_name);
  op.cycles = source.count(names.cycles);
  // Schema 1 had these among the machine's own activity.
  const JsonReader at = names.in_activity && source.find("activity") ? source.object("activity") : source;
  if (at.find(names.compute_cycles) != nullptr) {
    op.activity.emplace();
    op.activity->compute_cycles = at.count(names.compute_cycles);
    op.activity->bound = at.word(names.bound, kBounds, bound_name);
  }
  return op;
}

// The layer, and its counterpart of the baseline.
std::pair<LayerResult, LayerResult> read_layer(const JsonReader& source, const Names& names) {
  LayerResult layer{source.text("name"), source.text("shape"), source.number("batch_scale"), {}};
  if (layer.batch_scale < 0) source.fail("'batch_scale' is negative");
  LayerResult baseline = layer;
  const json& ops = source.list("ops");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const JsonReader op = source.entry(ops[i], "operation", i);
    layer.ops.push_back(read_op(op));
    baseline.ops.push_back(read_baseline_op(op, names));
    for (std::size_t j = 0; j < i; ++j) {
      if (layer.ops[j].op == layer.ops[i].op) source.fail("an operation is there twice");
    }
  }
  return {std::move(layer), std::move(baseline)};
}

void check_totals(const JsonReader& run, const Totals& computed, const Names& names) {
  const JsonReader total = run.object("total");
  const auto check = [&](const char* name, const CycleComparison& pair) {
    const JsonReader noted = total.object(name);
    if (noted.number(names.cycles) != pair.baseline_cycles || noted.number("cycles") != pair.cycles) {
      noted.fail("its cycles are not the sum of the layers'");
    }
  };
  check("forward", computed.forward);
  check("input_grad", computed.input_grad);
  check("weight_grad", computed.weight_grad);
  check("all", computed.all);
}

std::optional<StoredEnergy> read_energy(const JsonReader& run, const Names& names) {
  if (run.find("energy") == nullptr) return std::nullopt;
  const JsonReader source = run.object("energy");
  StoredEnergy energy;
  energy.table = source.text("table");
  energy.node_nm = source.number("node_nm");
  const auto joules = [&](const char* name) {
    const JsonReader pair = source.object(name);
    const auto total = [&](const char* side) {
      const JsonReader of = pair.object(side);
      const double value = of.number("total");
      if (!std::isfinite(value) || value < 0) of.fail("'total' is not a number from 0");
      return value;
    };
    return StoredEnergy::Joules{total(names.baseline), total("machine")};
  };
  for (const Operation op : kOperations)
    energy.by_operation[static_cast<std::size_t>(op)] = joules(std::string(operation_name(op)).c_str());
  energy.all = joules("all");
  return energy;
}

// The baseline as far as a file tells; null if the machine is its own.
std::shared_ptr<RunResult> read_baseline(const JsonReader& source, const Names& names) {
  auto baseline = std::make_shared<RunResult>();
  if (names.in_activity) {  // schema 1 had only one
    baseline->arch = baseline->base = "dense";
    return baseline;
  }
  if (source.get("baseline").is_null()) return nullptr;
  const JsonReader at = source.object("baseline");
  baseline->arch = baseline->base = at.text("arch");
  baseline->config = read_config(at);
  return baseline;
}

std::vector<LeftOut> read_left_out(const JsonReader& source) {
  std::vector<LeftOut> parts;
  if (source.find("left_out") == nullptr) return parts;
  const json& list = source.list("left_out");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader part = source.entry(list[i], "left_out", i);
    LeftOut& read = parts.emplace_back(LeftOut{part.text("name"), part.text("type"), {}});
    if (!part.get("macs").is_null()) read.macs = part.count("macs");
  }
  return parts;
}

RunResult read_run(const JsonReader& source, const Names& names) {
  RunResult run;
  run.trace = source.text("trace");
  run.info.model = source.text("model");
  run.info.dataset = source.text_or_empty("dataset");
  run.info.progress = source.number_if_there("progress");
  run.info.epoch = source.number_if_there("epoch");
  run.info.accuracy = source.number_if_there("accuracy");
  run.info.loss = source.number_if_there("loss");
  if (source.find("samples") != nullptr) run.info.samples = source.count("samples");
  run.info.recorded_share = source.number_if_there("recorded_share");
  if (const auto share = run.info.recorded_share; share && !(*share >= 0 && *share <= 1))
    source.fail("'recorded_share' is not a number from 0 to 1");
  run.info.left_out = read_left_out(source);
  run.batch = source.count("batch");
  run.arch = source.text("arch");
  run.base = source.text("base");
  run.engine = source.text("engine");
  const json& seed = source.get("seed");
  if (!seed.is_number_unsigned()) source.fail("'seed' is not an integer from 0");
  run.seed = seed.get<std::uint64_t>();
  run.config = read_config(source);
  const std::shared_ptr<RunResult> baseline = read_baseline(source, names);
  const json& layers = source.list("layers");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto [layer, baseline_layer] = read_layer(source.entry(layers[i], "layer", i), names);
    if (!seen.insert(layer.name).second) {
      source.fail(fmt::format("layer {} is there twice", quote_name(layer.name)));
    }
    run.layers.push_back(std::move(layer));
    if (baseline) baseline->layers.push_back(std::move(baseline_layer));
  }
  run.baseline = baseline;
  check_totals(source, run.total(), names);
  return run;
}

}  // namespace

ResultFile parse_results_json(std::string_view text, const std::string& where) {
  const json root = parse_untrusted_json(text, where, "the file");
  const JsonReader file(root, where, kRemedy);
  const json* schema = file.find("schema");
  if (schema == nullptr) file.fail("it is not a result of lacuna: 'schema' is missing");
  if (*schema != kResultSchema && *schema != 1) {
    throw InputError(where,
                     fmt::format("its schema is {}, this program reads 1 to {}", quote_name(schema->dump()),
                                 kResultSchema),
                     "use the version of lacuna that wrote it, or write it again");
  }
  const Names& names = *schema == 1 ? kSchema1 : kSchema2;
  ResultFile result;
  result.lacuna = file.text("lacuna");
  const json& runs = file.list("runs");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const JsonReader run = file.entry(runs[i], "run", i);
    result.runs.push_back(read_run(run, names));
    result.energies.push_back(read_energy(run, names));
  }
  return result;
}

}  // namespace lacuna
