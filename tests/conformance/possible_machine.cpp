#include "conformance/possible_machine.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <vector>

#include "sim/testing/machines.hpp"

namespace lacuna::testing {
namespace {

// Layers that fill a machine of 4,096 multipliers, without a zero and with many; and odd ones.
std::vector<Trace> layers_of_all_kinds() {
  const ZeroSpec none = ZeroSpec::dense(), half = ZeroSpec::uniform(0.5);
  const std::vector<LayerShape> shapes{
      LayerShape::linear(256, 256, 256),
      LayerShape::conv2d(2, 64, 64, {16, 16}, {1, 1}, {1, 1}, {0, 0}),
      LayerShape::conv2d(2, 64, 64, {16, 16}, {3, 3}, {1, 1}, {1, 1}),
      LayerShape::conv2d(1, 12, 20, {9, 7}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, 4),
  };
  std::vector<Trace> traces;
  for (const LayerShape& shape : shapes) {
    traces.push_back(one_layer_trace(shape, none, none, none));
    traces.push_back(one_layer_trace(shape, half, half, half));
  }
  return traces;
}

std::string place(const Layer& layer, Operation op) {
  return fmt::format("{}, {}: ", layer.shape.describe(), operation_name(op));
}

double total(const Hardware& hardware, std::string_view name) {
  const auto at = std::ranges::find(hardware.totals, name, &DesignTotal::name);
  return at == hardware.totals.end() ? 0 : at->value;
}

// Sums the actions of one kind, whatever part does them.
double sum_of(const OpResult& result, std::string_view part, std::string_view action) {
  double sum = 0;
  for (const ActionCount& count : result.actions)
    sum += count.part == part && count.action == action ? count.count : 0;
  return sum;
}

ComponentGroup group_of(const Hardware& hardware, const ActionCount& count) {
  return std::ranges::find(hardware.components, count.component, &Component::name)->group;
}

bool declares(const Hardware& hardware, const ActionCount& count) {
  for (const Component& component : hardware.components) {
    if (component.name != count.component) continue;
    for (const Part& part : component.parts) {
      if (part.name != count.part) continue;
      if (std::ranges::find(part.actions, count.action) != part.actions.end()) return true;
      if (count.action == "static" && hardware.is_powered(component, part)) return true;
    }
  }
  return false;
}

// Bits of the non-zeros that the operation reads and leaves, in a whole batch.
double needed_dram_bits(const OperationWork& work, std::int64_t value_bits) {
  const Layer& layer = work.layer;
  double values = 0;
  for (const Operand role : kOperands) {
    const bool once = layer.shape.once_per_batch(role);
    values += static_cast<double>(layer.tensor(role).nonzeros) * (once ? 1 : work.batch_scale);
  }
  return values * static_cast<double>(value_bits);
}

std::string wrong_actions(const OperationWork& work, const Hardware& hardware, const OpResult& result) {
  for (const ActionCount& count : result.actions) {
    const std::string name = fmt::format("{} of {} in {}", count.action, count.part, count.component);
    if (!declares(hardware, count)) return name + " is counted and not declared";
    if (!std::isfinite(count.count) || count.count < 0) return name + " is no count";
  }
  const double seconds =
      static_cast<double>(result.cycles) * work.batch_scale / (hardware.frequency_mhz * 1e6);
  if (std::abs(sum_of(result, "dram", "static") - seconds) > 1e-9 * seconds)
    return "DRAM is not powered for as long as the operation takes";
  const auto type = std::ranges::find(kDataTypes, hardware.data_type, &DataTypeFacts::name);
  // A is read and G left, or the other way round, or both are read and W is left: always the three.
  if (sum_of(result, "dram", "bit") < needed_dram_bits(work, bits_of(type->type)))
    return "fewer bits cross the DRAM bus than the values have";
  if (result.effectual_macs < result.macs) return {};
  // Without zeros and borders every value of both operands reaches a multiplier.
  const auto [primary, secondary] = operands(work.op);
  const double values[] = {static_cast<double>(work.layer.tensor(primary).elements()),
                           static_cast<double>(work.layer.tensor(secondary).elements())};
  const Activity& moved = *result.activity;
  const double rows[] = {static_cast<double>(moved.am_reads), static_cast<double>(moved.bm_reads)};
  constexpr double kRowValues = 16;
  if (std::ranges::min(rows) * kRowValues < std::ranges::min(values) ||
      std::ranges::max(rows) * kRowValues < std::ranges::max(values))
    return "an operand is not read from SRAM";
  if (sum_of(result, "sram", "read") < (rows[0] + rows[1]) * work.batch_scale)
    return "SRAM is read more often than its energy is counted";
  double multiplied = 0;
  for (const char* part : {"mac", "multiplier"}) multiplied += sum_of(result, part, "cycle");
  if (multiplied < static_cast<double>(result.effectual_macs) * work.batch_scale)
    return "fewer multiplier cycles are counted than there are products";
  return {};
}

// Runs check(layer, operation), which gives back what is wrong, on layers of all kinds.
template <typename Check>
std::string on_all_kinds(const Check& check) {
  for (const Trace& trace : layers_of_all_kinds()) {
    for (const Operation op : kOperations) {
      const std::string wrong = check(trace.layers()[0], op);
      if (!wrong.empty()) return place(trace.layers()[0], op) + wrong;
    }
  }
  return {};
}

}  // namespace

ThroughputCheck check_throughput(const Accelerator& machine) {
  const std::optional<Hardware> hardware = machine.hardware();
  const double multipliers = hardware ? total(*hardware, "multipliers") : 0;
  if (multipliers <= 0) return {"no total 'multipliers' is declared"};
  ThroughputCheck check;
  std::map<Operation, double> fullest;
  check.wrong = on_all_kinds([&](const Layer& layer, Operation op) -> std::string {
    const OpResult result = machine.simulate(layer, op, {});
    const auto products = static_cast<double>(result.effectual_macs);
    const double slots = static_cast<double>(result.cycles) * multipliers;
    if (products > slots)
      return fmt::format("{} products in {} cycles of {} multipliers", products, result.cycles, multipliers);
    if (slots > 0) fullest[op] = std::max(fullest[op], products / slots);
    return {};
  });
  check.fullest = 1;
  for (const Operation op : kOperations) check.fullest = std::min(check.fullest, fullest[op]);
  return check;
}

std::string check_actions(const Accelerator& machine) {
  const std::optional<Hardware> hardware = machine.hardware();
  if (!hardware) return "no hardware is declared";
  return on_all_kinds([&](const Layer& layer, Operation op) -> std::string {
    const OperationWork one(layer, op), four(layer, op, 4);
    const OpResult once = machine.simulate(one, {}), often = machine.simulate(four, {});
    for (const auto& [work, result] : {std::pair(&one, &once), std::pair(&four, &often)}) {
      const std::string wrong = wrong_actions(*work, *hardware, *result);
      if (!wrong.empty()) return wrong;
    }
    for (std::size_t i = 0; i < once.actions.size(); ++i) {
      const ActionCount &a = once.actions[i], &b = often.actions[i];
      // A larger batch may wait less: weights come once.
      if (group_of(*hardware, a) == ComponentGroup::kCore && a.action == "static") continue;
      // Nothing grows faster than the batch. Weights and their gradient come once, logic is clocked for all.
      const bool all = group_of(*hardware, a) == ComponentGroup::kCore && a.action == "cycle";
      if (b.count < (all ? 4 : 1) * a.count * (1 - 1e-9) || b.count > 4 * a.count * (1 + 1e-9))
        return fmt::format("{} of {} in {} does not grow with the batch", a.action, a.part, a.component);
    }
    if (sum_of(often, "dram", "static") <= sum_of(once, "dram", "static"))
      return "a larger batch takes no time";
    return {};
  });
}

std::string check_parts_are_used(const Accelerator& machine) {
  const std::optional<Hardware> hardware = machine.hardware();
  if (!hardware) return "no hardware is declared";
  std::set<std::pair<std::string, std::string>> used;
  on_all_kinds([&](const Layer& layer, Operation op) {
    for (const ActionCount& count : machine.simulate(layer, op, {}).actions) {
      if (count.count > 0) used.insert({count.component, count.part});
    }
    return std::string();
  });
  for (const Component& component : hardware->components) {
    for (const Part& part : component.parts) {
      if (!part.actions.empty() && !used.contains({component.name, part.name}))
        return fmt::format("no action of {} in {} is ever counted", part.name, component.name);
    }
  }
  return {};
}

std::string check_memory_takes_time(const Accelerator& ideal, const Accelerator& modelled) {
  const Hardware hardware = modelled.hardware().value();
  const double bytes_per_cycle = total(hardware, "dram_bytes_per_second") / (hardware.frequency_mhz * 1e6);
  if (bytes_per_cycle <= 0) return "no total 'dram_bytes_per_second' is declared";
  return on_all_kinds([&](const Layer& layer, Operation op) -> std::string {
    const OperationWork work(layer, op, 4);
    const OpResult without = ideal.simulate(work, {}), with = modelled.simulate(work, {});
    if (with.cycles < without.cycles)
      return fmt::format("{} cycles with memory, {} without", with.cycles, without.cycles);
    const double bytes = sum_of(with, "dram", "bit") / 8;
    const double fit = (static_cast<double>(with.cycles) + 1) * work.batch_scale * bytes_per_cycle;
    if (bytes > fit) return fmt::format("{} bytes cross a DRAM bus that takes {} in that time", bytes, fit);
    return {};
  });
}

std::string check_depends_on_the_layer_alone(const Accelerator& machine) {
  return on_all_kinds([&](const Layer& layer, Operation op) -> std::string {
    const OpResult first = machine.simulate(layer, op, {});
    Layer renamed = layer;
    for (const char* name : {"conv1", "layer1.0.conv1", "fc", ""}) {
      renamed.name = name;
      if (machine.simulate(renamed, op, {}) != first)
        return fmt::format("a layer called '{}' gives another result", name);
    }
    return machine.simulate(layer, op, {}) == first ? "" : "the second run gives another result";
  });
}

}  // namespace lacuna::testing
