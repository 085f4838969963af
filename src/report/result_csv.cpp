#include "report/result_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "report/csv_text.hpp"

namespace lacuna {
namespace {

std::string ratio(std::int64_t baseline, std::int64_t cycles) {
  return cycles > 0 ? fmt::format("{}", static_cast<double>(baseline) / static_cast<double>(cycles)) : "";
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
  std::string text = ",bound,baseline_bound,baseline_compute_cycles";
  for (const auto& [name, count] : kActivityCounts) text += fmt::format(",{}", name);
  for (const char* part : {"samples", "weights"}) {
    for (const auto& [name, count] : kTrafficCounts) text += fmt::format(",{}_{}", part, name);
  }
  return text;
}

std::string activity_fields(const OpResult& op, const OpResult& baseline) {
  if (!op.activity) return std::string(3 + kActivityCounts.size() + 2 * kTrafficCounts.size(), ',');
  const Activity& activity = *op.activity;
  std::string text = fmt::format(",{}", bound_name(activity.bound));
  text += baseline.activity
              ? fmt::format(",{},{}", bound_name(baseline.activity->bound), baseline.activity->compute_cycles)
              : std::string(",,");
  for (const auto& [name, count] : kActivityCounts) text += fmt::format(",{}", activity.*count);
  for (const TensorTraffic* part : {&activity.samples, &activity.weights}) {
    for (const auto& [name, count] : kTrafficCounts) text += fmt::format(",{}", part->*count);
  }
  return text;
}

// Columns of the energy, last; the JSON's names with the path written out. Each component that any run lists
// has a column on its side; those a machine does not have stay empty.
class EnergyColumns {
 public:
  explicit EnergyColumns(const std::vector<RunEnergy>& energies) {
    for (const RunEnergy& energy : energies) {
      add_names(energy.all.baseline, baseline_);
      add_names(energy.all.machine, machine_);
    }
  }

  bool any() const { return !machine_.empty(); }

  std::string header() const {
    std::string text = ",energy_table,energy_node_nm";
    const auto side = [&](std::string_view name, const std::vector<std::string>& components) {
      for (const std::string& component : components) text += fmt::format(",energy_{}_{}", name, component);
      text += fmt::format(",energy_{}_total", name);
    };
    side("baseline", baseline_);
    side("machine", machine_);
    return text + ",energy_compute_efficiency,energy_chip_efficiency";
  }

  std::string fields(const RunEnergy& energy, std::size_t layer, std::size_t op) const {
    if (energy.layers.empty()) return std::string(6 + baseline_.size() + machine_.size(), ',');
    const EnergyPair& pair = energy.layers[layer].ops[op].energy;
    return fmt::format(",{},{}{}{},{},{}", csv_text(energy.table), energy.node_nm,
                       side_fields(pair.baseline, baseline_), side_fields(pair.machine, machine_),
                       pair.compute_efficiency(), pair.chip_efficiency());
  }

 private:
  static void add_names(const ByComponent& parts, std::vector<std::string>& names) {
    for (const ByComponent::Value& part : parts.values) {
      if (std::ranges::find(names, part.name) == names.end()) names.push_back(part.name);
    }
  }
  static std::string side_fields(const ByComponent& parts, const std::vector<std::string>& components) {
    std::string text;
    for (const std::string& component : components) {
      const ByComponent::Value* part = parts.find(component);
      text += part == nullptr ? std::string(",") : fmt::format(",{}", part->value);
    }
    return text + fmt::format(",{}", parts.total());
  }

  std::vector<std::string> baseline_, machine_;
};

}  // namespace

std::string results_to_csv(const std::vector<RunResult>& runs, const std::vector<RunEnergy>& energies) {
  const std::vector<std::string> counters = counter_names(runs);
  std::string text =
      "trace,model,progress,arch,engine,layer,shape,batch_scale,op,scheduled,macs,scheduled_macs,effectual_"
      "macs,"
      "baseline,baseline_cycles,cycles,speedup,padding_free_cycles,padding_free_speedup";
  for (const std::string& name : counters) text += fmt::format(",{}", csv_text(name));
  const bool activity = has_activity(runs);
  if (activity) text += activity_header();
  const EnergyColumns energy(energies);
  if (energy.any()) text += energy.header();
  text += '\n';
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const RunResult& run = runs[r];
    const std::string head = fmt::format("{},{},{},{},{}", csv_text(run.trace), csv_text(run.info.model),
                                         run.info.progress ? fmt::format("{}", *run.info.progress) : "",
                                         csv_text(run.arch), csv_text(run.engine));
    for (std::size_t l = 0; l < run.layers.size(); ++l) {
      const LayerResult& layer = run.layers[l];
      for (std::size_t o = 0; o < layer.ops.size(); ++o) {
        const OpResult& op = layer.ops[o];
        const OpResult& baseline = run.baseline_op(l, o);
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", head, csv_text(layer.name),
                            csv_text(layer.shape), layer.batch_scale, operation_name(op.op),
                            scheduled_name(op.scheduled), op.macs, op.scheduled_macs, op.effectual_macs,
                            csv_text(run.compared_with().arch), baseline.cycles, op.cycles,
                            ratio(baseline.cycles, op.cycles), op.padding_free_cycles,
                            ratio(baseline.cycles, op.padding_free_cycles));
        for (const std::string& name : counters) {
          const auto at = std::ranges::find(op.counters, name, &Counter::name);
          text += at == op.counters.end() ? "," : fmt::format(",{}", at->value);
        }
        if (activity) text += activity_fields(op, baseline);
        if (energy.any()) text += energy.fields(energies[r], l, o);
        text += '\n';
      }
    }
  }
  return text;
}

}  // namespace lacuna
