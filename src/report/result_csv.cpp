#include "report/result_csv.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace lacuna {
namespace {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string ratio(std::int64_t dense, std::int64_t cycles) {
  return cycles > 0 ? fmt::format("{}", static_cast<double>(dense) / static_cast<double>(cycles)) : "";
}

// Machines have counters of their own: each gets a column, in the order in which they first occur.
std::vector<std::string> counter_names(const std::vector<RunResult>& runs) {
  std::vector<std::string> names;
  for (const RunResult& run : runs) {
    for (const LayerResult& layer : run.layers) {
      for (const OpResult& op : layer.ops) {
        for (const Counter& counter : op.counters) {
          if (std::ranges::find(names, counter.name) == names.end()) names.push_back(counter.name);
        }
      }
    }
  }
  return names;
}

bool has_activity(const std::vector<RunResult>& runs) {
  return std::ranges::any_of(runs, [](const RunResult& run) {
    return std::ranges::any_of(run.layers, [](const LayerResult& layer) {
      return std::ranges::any_of(layer.ops, [](const OpResult& op) { return op.activity.has_value(); });
    });
  });
}

// Columns of the activity, after all others; empty for machines that have none.
std::string activity_header() {
  std::string text = ",bound,dense_bound";
  for (const auto& [name, count] : kActivityCounts) text += fmt::format(",{}", name);
  for (const char* part : {"samples", "weights"}) {
    for (const auto& [name, count] : kTrafficCounts) text += fmt::format(",{}_{}", part, name);
  }
  return text;
}

std::string activity_fields(const OpResult& op) {
  if (!op.activity) return std::string(2 + kActivityCounts.size() + 2 * kTrafficCounts.size(), ',');
  const Activity& activity = *op.activity;
  std::string text = fmt::format(",{},{}", bound_name(activity.bound), bound_name(activity.dense_bound));
  for (const auto& [name, count] : kActivityCounts) text += fmt::format(",{}", activity.*count);
  for (const TensorTraffic* part : {&activity.samples, &activity.weights}) {
    for (const auto& [name, count] : kTrafficCounts) text += fmt::format(",{}", part->*count);
  }
  return text;
}

bool has_energies(const std::vector<RunEnergy>& energies) {
  return std::ranges::any_of(energies, [](const RunEnergy& energy) { return !energy.layers.empty(); });
}

constexpr std::array<std::pair<std::string_view, ByComponent EnergyPair::*>, 2> kSides{
    {{"dense", &EnergyPair::dense}, {"machine", &EnergyPair::machine}}};

// Columns of the energy, last; the JSON's names with the path written out.
std::string energy_header() {
  std::string text = ",energy_table,energy_node_nm";
  for (const auto& [side, parts] : kSides) {
    for (std::size_t i = 0; i < kComponents; ++i)
      text += fmt::format(",energy_{}_{}", side, component_name(static_cast<Component>(i)));
    text += fmt::format(",energy_{}_total", side);
  }
  return text + ",energy_compute_efficiency,energy_chip_efficiency";
}

std::string energy_fields(const RunEnergy& energy, std::size_t layer, std::size_t op) {
  if (energy.layers.empty()) return std::string(4 + kSides.size() * (kComponents + 1), ',');
  const EnergyPair& pair = energy.layers[layer].ops[op].energy;
  std::string text = fmt::format(",{},{}", csv_field(energy.table), energy.node_nm);
  for (const auto& [side, parts] : kSides) {
    for (const double joules : (pair.*parts).parts) text += fmt::format(",{}", joules);
    text += fmt::format(",{}", (pair.*parts).total());
  }
  return text + fmt::format(",{},{}", pair.compute_efficiency(), pair.chip_efficiency());
}

}  // namespace

std::string results_to_csv(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies) {
  const std::vector<std::string> counters = counter_names(runs);
  std::string text =
      "trace,model,progress,arch,engine,layer,shape,batch_scale,op,scheduled,macs,scheduled_macs,effectual_"
      "macs,"
      "dense_cycles,cycles,speedup,padding_free_cycles,padding_free_speedup";
  for (const std::string& name : counters) text += fmt::format(",{}", csv_field(name));
  const bool activity = has_activity(runs);
  if (activity) text += activity_header();
  const bool energy = has_energies(energies);
  if (energy) text += energy_header();
  text += '\n';
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const RunResult& run = runs[r];
    const std::string head = fmt::format("{},{},{},{},{}", csv_field(run.trace), csv_field(run.info.model),
                                         run.info.progress ? fmt::format("{}", *run.info.progress) : "",
                                         csv_field(run.arch), csv_field(run.engine));
    for (std::size_t l = 0; l < run.layers.size(); ++l) {
      const LayerResult& layer = run.layers[l];
      for (std::size_t o = 0; o < layer.ops.size(); ++o) {
        const OpResult& op = layer.ops[o];
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", head, csv_field(layer.name),
                            csv_field(layer.shape), layer.batch_scale, operation_name(op.op),
                            scheduled_name(op.scheduled), op.macs, op.scheduled_macs, op.effectual_macs,
                            op.dense_cycles, op.cycles, ratio(op.dense_cycles, op.cycles),
                            op.padding_free_cycles, ratio(op.dense_cycles, op.padding_free_cycles));
        for (const std::string& name : counters) {
          const auto at = std::ranges::find(op.counters, name, &Counter::name);
          text += at == op.counters.end() ? "," : fmt::format(",{}", at->value);
        }
        if (activity) text += activity_fields(op);
        if (energy) text += energy_fields(energies[r], l, o);
        text += '\n';
      }
    }
  }
  return text;
}

}  // namespace lacuna
