#include "report/compare/design_difference.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <vector>

namespace lacuna {
namespace {

bool nearly(double a, double b) { return std::abs(a - b) <= 0.01 * std::abs(b); }

// "half the", "twice the", "0.75 times the".
std::string times_the(double ratio) {
  struct Word {
    double ratio;
    const char* text;
  };
  for (const Word& word : {Word{0.25, "a quarter of the"}, Word{0.5, "half the"}, Word{2, "twice the"}}) {
    if (nearly(ratio, word.ratio)) return word.text;
  }
  const double parts = std::round(1 / ratio);
  if (parts > 1 && nearly(ratio, 1 / parts)) return fmt::format("1/{:.0f} of the", parts);
  return fmt::format("{:.3g} times the", ratio);
}

std::optional<Hardware> default_hardware(const std::string& model, const AcceleratorRegistry& registry) {
  const AcceleratorModel* found = registry.find(model);
  if (found == nullptr) return std::nullopt;
  return found->make(Params(found->name, found->params))->hardware();
}

}  // namespace

std::string design_difference(const Hardware& design, const Hardware& reference) {
  std::vector<std::string> parts;
  const auto compare = [&](const std::string& title, double own, double other) {
    if (other > 0 && !nearly(own, other)) parts.push_back(times_the(own / other) + " " + title);
  };
  for (const DesignTotal& total : design.totals) {
    const auto other = std::ranges::find(reference.totals, total.name, &DesignTotal::name);
    if (!total.title.empty() && other != reference.totals.end()) {
      compare(total.title, total.value, other->value);
    }
  }
  compare("clock frequency", design.frequency_mhz, reference.frequency_mhz);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string design_differences(std::span<const RunResult> runs, const AcceleratorRegistry& registry) {
  struct Line {
    std::string difference;
    std::vector<std::string> machines;
  };
  std::vector<Line> lines;
  std::set<std::string> named;
  for (const RunResult& run : runs) {
    if (!run.hardware || !named.insert(run.arch).second) continue;
    std::set<std::string> said;
    const auto say = [&](const std::optional<Hardware>& reference, const std::string& called) {
      const std::string difference = reference ? design_difference(*run.hardware, *reference) : "";
      // One reference is enough for one difference.
      if (difference.empty() || !said.insert(difference).second) return;
      const std::string text = fmt::format("{} of {}", difference, called);
      auto line = std::ranges::find(lines, text, &Line::difference);
      if (line == lines.end()) line = lines.insert(line, {text, {}});
      line->machines.push_back(run.arch);
    };
    if (run.baseline) say(run.baseline->hardware, fmt::format("its baseline, {}", run.baseline->arch));
    if (runs.front().arch != run.arch) say(runs.front().hardware, runs.front().arch);
    say(default_hardware(run.base, registry), fmt::format("the default {}", run.base));
  }
  std::string text;
  for (const Line& line : lines) {
    text += fmt::format("{}: {}\n", fmt::join(line.machines, ", "), line.difference);
  }
  return text;
}

std::optional<bool> waits_for_memory(const RunResult& run) {
  const auto at = std::ranges::find(run.config, "memory", &ConfigValue::name);
  return at == run.config.end() ? std::nullopt : std::optional(at->value == "modelled");
}

std::string mixed_memory_warning(std::span<const RunResult> runs) {
  std::vector<std::string> waiting, ideal;
  for (const RunResult& run : runs) {
    const std::optional<bool> waits = waits_for_memory(run);
    if (!waits) continue;
    std::vector<std::string>& names = *waits ? waiting : ideal;
    if (std::ranges::find(names, run.arch) == names.end()) names.push_back(run.arch);
  }
  if (waiting.empty() || ideal.empty()) return {};
  return fmt::format(
      "\nwarning: {} {} for memory, {} {} not: their cycles do not compare ('--set memory=modelled' or "
      "'--set memory=ideal' treats all alike)\n",
      fmt::join(waiting, ", "), waiting.size() == 1 ? "waits" : "wait", fmt::join(ideal, ", "),
      ideal.size() == 1 ? "does" : "do");
}

}  // namespace lacuna
