#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/io/untrusted_json.hpp"
#include "report/result/json_reader.hpp"
#include "report/result/result_json.hpp"
#include "report/result/run_fields.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

using nlohmann::json;

constexpr std::string_view kRemedy = "write it again with 'lacuna simulate --json'";

template <typename AnyField>
std::string_view read_word(const JsonReader& source, const AnyField& field) {
  const std::string found = source.text(field.name);
  const auto at = std::ranges::find(field.words, found);
  if (at == field.words.end())
    source.fail(fmt::format("'{}' is {}, which is not known", field.name, quote_name(found)));
  return *at;
}

// Reads what a record stores; fields that follow from others are not looked at.
template <typename Fields, typename Target>
void read_record(const JsonReader& source, const Fields& fields, Target&& target) {
  for (const auto& field : fields) {
    if (field.set == nullptr || (field.optional && source.find(field.name) == nullptr)) continue;
    if (field.kind == FieldKind::kWord) field.set(target, read_word(source, field));
    if (field.kind == FieldKind::kCount) field.set(target, source.count(field.name));
  }
}

void read_op(const JsonReader& source, OpResult& op, OpResult& baseline) {
  read_record(source, kOpFields, OpTarget{op, baseline});
  baseline.op = op.op;
  if (const json* counters = source.find("counters")) {
    if (!counters->is_object()) source.fail("'counters' is not an object");
    for (const auto& [name, value] : counters->items())
      op.counters.push_back({name, source.count(value, name)});
  }
  if (const json* mapping = source.find("mapping")) {
    if (!mapping->is_object()) source.fail("'mapping' is not an object");
    for (const auto& [name, value] : mapping->items()) {
      op.mapping.push_back({name, std::int64_t{0}});
      MappingChoice& choice = op.mapping.back();
      if (value.is_string()) {
        choice.value = value.get<std::string>();
      } else {
        choice.value = source.count(value, name);
      }
    }
  }
  if (source.find("activity") != nullptr)
    read_record(source.object("activity"), kActivityFields, op.activity.emplace());
}

// The layer and its counterpart of the baseline.
std::pair<LayerResult, LayerResult> read_layer(const JsonReader& source) {
  LayerResult layer{source.text("name"), source.text("shape"), source.number("batch_scale"), {}};
  if (layer.batch_scale < 0) source.fail("'batch_scale' is negative");
  LayerResult baseline = layer;
  const json& ops = source.list("ops");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    read_op(source.entry(ops[i], "operation", i), layer.ops.emplace_back(), baseline.ops.emplace_back());
    for (std::size_t j = 0; j < i; ++j) {
      if (layer.ops[j].op == layer.ops[i].op) source.fail("an operation is there twice");
    }
  }
  return {std::move(layer), std::move(baseline)};
}

void check_totals(const JsonReader& run, const Totals& computed) {
  const JsonReader total = run.object("total");
  const auto check = [&](std::string_view name, const CycleComparison& cycles) {
    const JsonReader noted = total.object(name);
    if (noted.number("baseline_cycles") != cycles.baseline_cycles || noted.number("cycles") != cycles.cycles)
      noted.fail("its cycles are not the sum of the layers'");
  };
  for (const Operation op : kOperations) check(operation_name(op), computed.of(op));
  check("all", computed.all);
}

std::optional<StoredEnergy> read_energy(const JsonReader& run) {
  if (run.find("energy") == nullptr) return std::nullopt;
  const JsonReader source = run.object("energy");
  StoredEnergy energy;
  energy.table = source.text("table");
  energy.node_nm = source.number("node_nm");
  const auto joules = [&](std::string_view name) {
    const JsonReader sides = source.object(name);
    const auto total = [&](std::string_view side) {
      const JsonReader of = sides.object(side);
      const double value = of.number("total");
      if (!std::isfinite(value) || value < 0) of.fail("'total' is not a number from 0");
      return value;
    };
    return StoredEnergy::Joules{total("baseline"), total("machine")};
  };
  for (const Operation op : kOperations) energy.by_operation[op] = joules(operation_name(op));
  energy.all = joules("all");
  return energy;
}

RunResult read_run(const JsonReader& source) {
  RunResult run;
  read_run_head(source, run);
  const auto baseline = run.baseline ? std::make_shared<RunResult>(*run.baseline) : nullptr;
  const json& layers = source.list("layers");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto [layer, baseline_layer] = read_layer(source.entry(layers[i], "layer", i));
    if (!seen.insert(layer.name).second) {
      source.fail(fmt::format("layer {} is there twice", quote_name(layer.name)));
    }
    run.layers.push_back(std::move(layer));
    if (baseline) baseline->layers.push_back(std::move(baseline_layer));
  }
  run.baseline = baseline;
  check_totals(source, run.total());
  return run;
}

}  // namespace

ResultFile parse_results_json(std::string_view text, const std::string& where) {
  const json root = parse_untrusted_json(text, where, "the file");
  const JsonReader file(root, where, kRemedy);
  const json* schema = file.find("schema");
  if (schema == nullptr) file.fail("it is not a result of lacuna: 'schema' is missing");
  if (*schema != kResultSchema) {
    throw InputError(
        where,
        fmt::format("its schema is {}, this program reads {}", quote_name(schema->dump()), kResultSchema),
        "use the version of lacuna that wrote it, or write it again");
  }
  ResultFile result;
  result.lacuna = file.text("lacuna");
  const json& runs = file.list("runs");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const JsonReader run = file.entry(runs[i], "run", i);
    result.runs.push_back(read_run(run));
    result.energies.push_back(read_energy(run));
  }
  return result;
}

}  // namespace lacuna
