#include "sim/result.hpp"

#include <limits>

namespace lacuna {

std::string choice_text(const MappingChoice& choice) {
  const auto* count = std::get_if<std::int64_t>(&choice.value);
  return count != nullptr ? std::to_string(*count) : std::get<std::string>(choice.value);
}

std::string mapping_text(const std::vector<MappingChoice>& mapping) {
  std::string text;
  for (const MappingChoice& choice : mapping) {
    if (!text.empty()) text += ' ';
    text += choice.name + '=' + choice_text(choice);
  }
  return text;
}
namespace {

CycleComparison scaled(const CycleComparison& pair, double scale) {
  return {scale * pair.baseline_cycles, scale * pair.cycles, scale * pair.cycles_without_zeros};
}

Totals sum_layers(const RunResult& run, bool to_batch) {
  Totals totals;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    for (std::size_t j = 0; j < layer.ops.size(); ++j) {
      const CycleComparison cycles = scaled(run.cycles_of(i, j), to_batch ? layer.batch_scale : 1.0);
      totals.of(layer.ops[j].op) += cycles;
      totals.all += cycles;
    }
  }
  return totals;
}

}  // namespace

std::vector<ConfigValue> resolved_config(const Params& params) {
  std::vector<ConfigValue> config;
  const auto values = params.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    config.push_back({values[i].first, values[i].second, params.specs()[i].kind});
  }
  return config;
}

CycleComparison& CycleComparison::operator+=(const CycleComparison& other) {
  baseline_cycles += other.baseline_cycles;
  cycles += other.cycles;
  cycles_without_zeros += other.cycles_without_zeros;
  return *this;
}

CycleComparison compare_cycles(const OpResult& machine, const OpResult& baseline) {
  return {static_cast<double>(baseline.cycles), static_cast<double>(machine.cycles),
          machine.cycles_without_zeros ? static_cast<double>(*machine.cycles_without_zeros)
                                       : std::numeric_limits<double>::quiet_NaN()};
}

double RunResult::counter(std::string_view name) const {
  double sum = 0;
  for (const LayerResult& layer : layers) {
    for (const OpResult& op : layer.ops) {
      for (const Counter& counter : op.counters)
        sum += counter.name == name ? static_cast<double>(counter.value) : 0;
    }
  }
  return sum;
}

Totals RunResult::total() const { return sum_layers(*this, false); }
Totals RunResult::per_batch() const { return sum_layers(*this, true); }

}  // namespace lacuna
