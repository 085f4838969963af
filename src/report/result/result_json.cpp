#include "report/result/result_json.hpp"

#include <fmt/format.h>

#include "base/version.hpp"
#include "report/result/json_text.hpp"
#include "report/study/coverage.hpp"

namespace lacuna {
namespace {

std::string activity_json(const Activity& activity) {
  JsonLine line;
  line.field("bound", bound_name(activity.bound));
  for (const auto& [name, count] : kActivityCounts) line.field(name, activity.*count);
  for (const auto& [name, count] : kTrafficCounts)
    line.field(fmt::format("samples_{}", name), activity.samples.*count);
  for (const auto& [name, count] : kTrafficCounts)
    line.field(fmt::format("weights_{}", name), activity.weights.*count);
  return line.text();
}

// null where there is no cycle or where it is not known.
void append_speedups(JsonLine& line, const CycleComparison& pair) {
  line.field("speedup", pair.baseline_cycles / pair.cycles)
      .field("speedup_from_zeros", pair.cycles_without_zeros / pair.cycles)
      .field("speedup_from_empty_lanes", pair.baseline_cycles / pair.cycles_without_zeros);
}

std::string op_json(const OpResult& op, const OpResult& baseline, const CycleComparison& cycles) {
  JsonLine line;
  line.field("op", operation_name(op.op))
      .field("scheduled", scheduled_name(op.scheduled))
      .field("macs", op.macs)
      .field("scheduled_macs", op.scheduled_macs)
      .field("effectual_macs", op.effectual_macs);
  line.field("baseline_cycles", baseline.cycles);
  if (op.cycles_without_zeros) line.field("cycles_without_zeros", *op.cycles_without_zeros);
  line.field("cycles", op.cycles);
  append_speedups(line, cycles);
  if (!op.counters.empty()) {
    JsonLine counters;
    for (const Counter& counter : op.counters) counters.field(counter.name, counter.value);
    line.raw("counters", counters.text());
  }
  if (op.activity) line.raw("activity", activity_json(*op.activity));
  if (baseline.activity) {
    line.field("baseline_compute_cycles", baseline.activity->compute_cycles)
        .field("baseline_bound", bound_name(baseline.activity->bound));
  }
  return line.text();
}

std::string pair_json(const CycleComparison& pair) {
  JsonLine line;
  line.field("baseline_cycles", pair.baseline_cycles)
      .field("cycles_without_zeros", pair.cycles_without_zeros)
      .field("cycles", pair.cycles);
  append_speedups(line, pair);
  return line.text();
}

std::string totals_json(const Totals& totals, std::string_view indent) {
  std::string text = "{";
  for (const Operation op : kOperations) {
    text += fmt::format("\n{}  \"{}\": {},", indent, operation_name(op), pair_json(totals.of(op)));
  }
  return text + fmt::format("\n{0}  \"all\": {1}\n{0}}}", indent, pair_json(totals.all));
}

std::string layer_json(const RunResult& run, std::size_t index) {
  const LayerResult& layer = run.layers[index];
  std::string text =
      fmt::format("        {{\"name\": {}, \"shape\": {}, \"batch_scale\": {}, \"ops\": [",
                  json_string(layer.name), json_string(layer.shape), json_number(layer.batch_scale));
  for (std::size_t i = 0; i < layer.ops.size(); ++i) {
    text += fmt::format("{}\n          {}", i > 0 ? "," : "",
                        op_json(layer.ops[i], run.baseline_op(index, i), run.cycles_of(index, i)));
  }
  return text + "\n        ]}";
}

void append_run(std::string& text, const RunResult& run, const RunEnergy* energy, bool energy_layers) {
  const auto field = [&](std::string_view name, std::string_view json) {
    text += fmt::format("      \"{}\": {},\n", name, json);
  };
  const auto number = [&](std::string_view name, const auto& optional) {
    if (optional) field(name, json_number(static_cast<double>(*optional)));
  };
  text += "    {\n";
  field("trace", json_string(run.trace));
  field("model", json_string(run.info.model));
  if (!run.info.dataset.empty()) field("dataset", json_string(run.info.dataset));
  number("progress", run.info.progress);
  number("epoch", run.info.epoch);
  number("accuracy", run.info.accuracy);
  number("loss", run.info.loss);
  number("samples", run.info.samples);
  number("recorded_share", run.info.recorded_share);
  if (!run.info.left_out.empty()) field("left_out", left_out_list_json(run.info));
  field("batch", std::to_string(run.batch));
  field("arch", json_string(run.arch));
  field("base", json_string(run.base));
  field("engine", json_string(run.engine));
  field("seed", std::to_string(run.seed));
  field("config", config_json(run.config));
  field("baseline", !run.baseline ? "null"
                                  : JsonLine()
                                        .field("arch", std::string_view(run.baseline->arch))
                                        .raw("config", config_json(run.baseline->config))
                                        .text());
  text += "      \"layers\": [";
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    text += i > 0 ? ",\n" : "\n";
    text += layer_json(run, i);
  }
  text += "\n      ],\n";
  field("total", totals_json(run.total(), "      "));
  if (energy != nullptr && !energy->layers.empty()) {
    field("energy", energy_json(*energy, energy_layers, "      "));
    field("power", power_json(*energy));
    if (energy->area) field("area", area_json(*energy->area));
  }
  text += fmt::format("      \"per_batch\": {}\n    }}", totals_json(run.per_batch(), "      "));
}

}  // namespace

std::string config_json(const std::vector<ConfigValue>& config) {
  JsonLine line;
  for (const ConfigValue& entry : config) {
    switch (entry.kind) {
      case ParamSpec::Kind::kInteger:
      case ParamSpec::Kind::kNumber:
        line.raw(entry.name, entry.value);
        break;
      case ParamSpec::Kind::kFlag:
        line.raw(entry.name, entry.value == "on" ? "true" : "false");
        break;
      case ParamSpec::Kind::kText:
        line.field(entry.name, entry.value);
        break;
    }
  }
  return line.text();
}

std::string results_to_json(const std::vector<RunResult>& runs, const EnergyToWrite& energies) {
  std::string text = fmt::format("{{\n  \"schema\": {},\n  \"lacuna\": {},\n  \"runs\": [", kResultSchema,
                                 json_string(version()));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += i > 0 ? ",\n" : "\n";
    append_run(text, runs[i], energies.of_runs != nullptr ? &(*energies.of_runs)[i] : nullptr,
               energies.layers);
  }
  return text + "\n  ]\n}\n";
}

}  // namespace lacuna
