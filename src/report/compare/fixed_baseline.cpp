#include "report/compare/fixed_baseline.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "report/compare/design_difference.hpp"
#include "report/short_text.hpp"

namespace lacuna {
namespace {

bool have_same_layers(const RunResult& a, const RunResult& b) {
  return std::ranges::equal(a.layers, b.layers, [](const LayerResult& x, const LayerResult& y) {
    return x.name == y.name && x.shape == y.shape &&
           std::ranges::equal(x.ops, y.ops, {}, &OpResult::op, &OpResult::op);
  });
}

const std::shared_ptr<const RunResult>* of_trace(const BaselineRuns& baselines, const std::string& trace) {
  auto found = std::ranges::find_if(baselines, [&](const auto& run) { return run->trace == trace; });
  if (found == baselines.end()) {
    found = std::ranges::find_if(baselines,
                                 [&](const auto& run) { return file_name(run->trace) == file_name(trace); });
  }
  return found == baselines.end() ? nullptr : &*found;
}

}  // namespace

BaselineRuns baseline_runs(const ResultFile& file, const std::string& arch, const std::string& where) {
  std::vector<std::string> archs;
  BaselineRuns runs;
  for (const RunResult& run : file.runs) {
    if (std::ranges::find(archs, run.arch) == archs.end()) archs.push_back(run.arch);
    if (arch.empty() || run.arch == arch) runs.push_back(std::make_shared<const RunResult>(run));
  }
  if (runs.empty()) {
    throw InputError(where, fmt::format("the results have no machine {}", quote_name(arch)),
                     suggest(arch, archs));
  }
  if (arch.empty() && archs.size() > 1) {
    throw InputError(where, fmt::format("the file holds several machines: {}", fmt::join(archs, ", ")),
                     "give a file of one machine, or a machine of A.json by name");
  }
  return runs;
}

void fix_baseline(ResultFile& file, const BaselineRuns& baselines, const std::string& where) {
  for (RunResult& run : file.runs) {
    const auto* const found = of_trace(baselines, run.trace);
    if (found == nullptr) {
      throw InputError(where, fmt::format("the baseline was not simulated on {}", quote_name(run.trace)),
                       "simulate it on the same traces");
    }
    const RunResult& baseline = **found;
    if (!have_same_layers(run, baseline)) {
      throw InputError(
          where, fmt::format("the baseline has other layers or operations on {}", quote_name(run.trace)),
          "simulate it on the same traces, with the same --operations");
    }
    if (!mixed_memory_warning(std::vector{run, baseline}).empty()) {
      throw InputError(where,
                       fmt::format("of {} and the baseline {} one waits for memory and the other does not",
                                   quote_name(run.arch), quote_name(baseline.arch)),
                       "simulate both with the same 'memory'");
    }
    run.baseline = *found;
  }
}

}  // namespace lacuna
