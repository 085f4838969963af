#include "sim/result.hpp"

#include <limits>

namespace lacuna {
namespace {

CyclePair scaled(const CyclePair& pair, double scale) {
  return {scale * pair.baseline_cycles, scale * pair.cycles, scale * pair.cycles_without_zeros};
}

Totals sum_layers(const RunResult& run, bool to_batch) {
  Totals totals;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    for (std::size_t j = 0; j < layer.ops.size(); ++j) {
      const CyclePair cycles = scaled(run.cycles_of(i, j), to_batch ? layer.batch_scale : 1.0);
      totals.of(layer.ops[j].op) += cycles;
      totals.all += cycles;
    }
  }
  return totals;
}

}  // namespace

CyclePair& CyclePair::operator+=(const CyclePair& other) {
  baseline_cycles += other.baseline_cycles;
  cycles += other.cycles;
  cycles_without_zeros += other.cycles_without_zeros;
  return *this;
}

CyclePair RunResult::cycles_of(std::size_t layer, std::size_t op) const {
  const OpResult& own = layers[layer].ops[op];
  return {static_cast<double>(baseline_op(layer, op).cycles), static_cast<double>(own.cycles),
          own.cycles_without_zeros ? static_cast<double>(*own.cycles_without_zeros)
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
