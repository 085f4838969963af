#include "report/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "report/short_text.hpp"
#include "sim/result_fields.hpp"

namespace lacuna {
namespace {

void compare_setting(std::vector<SettingChange>& changes, std::string name, const std::string& a,
                     const std::string& b) {
  if (a != b) changes.push_back({std::move(name), a, b});
}

std::vector<SettingChange> compare_settings(const RunResult& a, const RunResult& b) {
  std::vector<SettingChange> changes;
  compare_setting(changes, "arch", a.arch, b.arch);
  compare_setting(changes, "base", a.base, b.base);
  compare_setting(changes, "engine", a.engine, b.engine);
  compare_setting(changes, "seed", fmt::format("{}", a.seed), fmt::format("{}", b.seed));
  compare_setting(changes, "batch", fmt::format("{}", a.batch), fmt::format("{}", b.batch));
  const auto value = [](const RunResult& run, const std::string& name) {
    const auto at = std::ranges::find(run.config, name, &ConfigValue::name);
    return at == run.config.end() ? std::string() : at->value;
  };
  for (const ConfigValue& entry : a.config)
    compare_setting(changes, entry.name, entry.value, value(b, entry.name));
  for (const ConfigValue& entry : b.config) {
    if (std::ranges::find(a.config, entry.name, &ConfigValue::name) == a.config.end()) {
      compare_setting(changes, entry.name, "", entry.value);
    }
  }
  return changes;
}

// Compares numbers with a threshold, counters name by name; a value that one side lacks does not count,
// since files of other versions have other fields.
class ValueComparison {
 public:
  explicit ValueComparison(double threshold) : threshold_(threshold) {}

  // The names of fields that changed. Counts of an activity change together: they are one field.
  std::vector<std::string> changed(const OpView& a, const OpView& b) {
    for (const OpField& field : kOpFields) {
      // Ratios follow from counts, the mapping from settings.
      if (field.kind == FieldKind::kRatio || field.kind == FieldKind::kMapping) continue;
      if (field.kind == FieldKind::kCounters) {
        compare_counters(a.machine, b.machine);
      } else {
        compare(std::string(field.name), field.get(a), field.get(b));
      }
    }
    return std::move(fields_);
  }

 private:
  void compare(const std::string& name, const FieldValue& a, const FieldValue& b) {
    if (a.index() != b.index()) return;
    if (const auto* count = std::get_if<std::int64_t>(&a)) {
      compare_counts(name, *count, std::get<std::int64_t>(b));
    } else if (const auto* activity = std::get_if<const Activity*>(&a)) {
      for (const ActivityField& field : kActivityFields)
        compare(field.kind == FieldKind::kWord ? std::string(field.name) : name, field.get(**activity),
                field.get(*std::get<const Activity*>(b)));
    } else if (a != b) {
      add(name);
    }
  }

  void compare_counts(const std::string& name, std::int64_t before, std::int64_t after) {
    if (before == after) return;
    const double change = std::abs(static_cast<double>(after) - static_cast<double>(before));
    if (change > threshold_ * static_cast<double>(before)) add(name);
  }

  void compare_counters(const OpResult& a, const OpResult& b) {
    const auto value = [](const OpResult& op, const std::string& name) {
      const auto at = std::ranges::find(op.counters, name, &Counter::name);
      return at == op.counters.end() ? std::int64_t{0} : at->value;
    };
    for (const Counter& counter : a.counters)
      compare_counts("counters." + counter.name, counter.value, value(b, counter.name));
    for (const Counter& counter : b.counters) {
      if (std::ranges::find(a.counters, counter.name, &Counter::name) == a.counters.end())
        compare_counts("counters." + counter.name, 0, counter.value);
    }
  }

  void add(const std::string& name) {
    if (std::ranges::find(fields_, name) == fields_.end()) fields_.push_back(name);
  }

  double threshold_;
  std::vector<std::string> fields_;
};

std::optional<OpView> find_op(const RunResult& run, const std::string& layer, Operation op) {
  const auto at = std::ranges::find(run.layers, layer, &LayerResult::name);
  if (at == run.layers.end()) return std::nullopt;
  const auto found = std::ranges::find(at->ops, op, &OpResult::op);
  if (found == at->ops.end()) return std::nullopt;
  const auto i = static_cast<std::size_t>(at - run.layers.begin());
  const auto j = static_cast<std::size_t>(found - at->ops.begin());
  return OpView{*found, run.baseline_op(i, j)};
}

RunComparison compare_runs(const RunResult& a, const RunResult& b, double threshold) {
  RunComparison result;
  result.a = &a;
  result.b = &b;
  result.settings = compare_settings(a, b);
  for (const LayerResult& layer : a.layers) {
    for (const OpResult& op : layer.ops) {
      const OpView own = *find_op(a, layer.name, op.op);
      const std::optional<OpView> other = find_op(b, layer.name, op.op);
      if (!other) {
        result.only_a.push_back(fmt::format("{} {}", layer.name, operation_name(op.op)));
        continue;
      }
      ++result.operations;
      auto fields = ValueComparison(threshold).changed(own, *other);
      if (!fields.empty()) {
        result.changes.push_back({layer.name, op.op, compare_cycles(own.machine, own.baseline),
                                  compare_cycles(other->machine, other->baseline), std::move(fields)});
      }
    }
  }
  for (const LayerResult& layer : b.layers) {
    for (const OpResult& op : layer.ops) {
      if (!find_op(a, layer.name, op.op)) {
        result.only_b.push_back(fmt::format("{} {}", layer.name, operation_name(op.op)));
      }
    }
  }
  std::ranges::stable_sort(result.changes, std::ranges::greater{}, &OpChange::effect);
  return result;
}

std::optional<StoredEnergy> energy_of(const ResultFile& file, const RunResult& run) {
  const auto index = static_cast<std::size_t>(&run - file.runs.data());
  return index < file.energies.size() ? file.energies[index] : std::nullopt;
}

// A file that was written without --energy is not a difference.
void compare_energy(const std::optional<StoredEnergy>& a, const std::optional<StoredEnergy>& b,
                    double threshold, RunComparison& result) {
  if (!a || !b) return;
  result.energy_a = a;
  result.energy_b = b;
  compare_setting(result.settings, "energy table", a->table, b->table);
  compare_setting(result.settings, "energy node_nm", fmt::format("{}", a->node_nm),
                  fmt::format("{}", b->node_nm));
  const auto changed = [&](double before, double after) {
    return std::abs(after - before) > threshold * before;
  };
  for (const Operation op : kOperations) {
    const StoredEnergy::Joules& x = a->by_operation[op];
    const StoredEnergy::Joules& y = b->by_operation[op];
    if (changed(x.machine, y.machine) || changed(x.baseline, y.baseline)) result.energy_differs = true;
  }
}

}  // namespace

bool Comparison::differs() const {
  return !only_a.empty() || !only_b.empty() || std::ranges::any_of(runs, &RunComparison::differs);
}

Comparison compare_results(const ResultFile& a, const ResultFile& b, double threshold) {
  Comparison result;
  for (const RunResult& run : a.runs) result.only_a.push_back(&run);
  for (const RunResult& run : b.runs) result.only_b.push_back(&run);
  // From the strictest to the loosest idea of "the same run"; what is left over is in one file only.
  using Same = bool (*)(const RunResult&, const RunResult&);
  const Same rules[] = {
      [](const RunResult& x, const RunResult& y) { return x.trace == y.trace && x.arch == y.arch; },
      [](const RunResult& x, const RunResult& y) {
        return file_name(x.trace) == file_name(y.trace) && x.arch == y.arch;
      },
      [](const RunResult& x, const RunResult& y) {
        return x.info.model == y.info.model && x.info.progress == y.info.progress && x.arch == y.arch;
      },
      [](const RunResult& x, const RunResult& y) { return file_name(x.trace) == file_name(y.trace); },
  };
  for (const Same same : rules) {
    for (std::size_t i = 0; i < result.only_a.size();) {
      const RunResult& run = *result.only_a[i];
      const auto matches = [&](const RunResult* other) { return same(run, *other); };
      // Two candidates on either side: ambiguous, so neither is matched.
      const auto mine =
          std::ranges::count_if(result.only_a, [&](const RunResult* other) { return same(*other, run); });
      const auto at = std::ranges::find_if(result.only_b, matches);
      if (mine != 1 || at == result.only_b.end() || std::ranges::count_if(result.only_b, matches) != 1) {
        ++i;
        continue;
      }
      result.runs.push_back(compare_runs(run, **at, threshold));
      compare_energy(energy_of(a, run), energy_of(b, **at), threshold, result.runs.back());
      result.only_b.erase(at);
      result.only_a.erase(result.only_a.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return result;
}

}  // namespace lacuna
