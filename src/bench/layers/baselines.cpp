#include "bench/layers/baselines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "base/error.hpp"
#include "bench/columns.hpp"

namespace lacuna::bench {
namespace {

using kernels::Impl;

// Cases in the order of their zeros; ratio: how many times faster ours is.
double crossing(const std::vector<const Case*>& cases, const std::function<double(const Case&)>& ratio) {
  const auto time = [&](const Case& c) { return 1 / ratio(c); };  // in times of the baseline
  if (time(*cases.front()) <= 1) return 0;
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const double before = time(*cases[i - 1]);
    const double after = time(*cases[i]);
    if (after > 1) continue;
    const double from = cases[i - 1]->result.zeros;
    return from + (cases[i]->result.zeros - from) * (before - 1) / (before - after);
  }
  return -1;
}

// Below the share at which auto begins to skip, it runs one of the baselines: a tie, whatever the noise says.
double auto_crossing(const std::vector<const Case*>& cases, const std::function<double(const Case&)>& ratio) {
  const auto faster = [&](const Case* c) { return c->result.used == Impl::kSparse && ratio(*c) > 1; };
  const auto first = std::find_if(cases.begin(), cases.end(), faster);
  if (first == cases.end()) return -1;
  const double from = first == cases.begin() ? 0 : (*std::prev(first))->result.zeros;
  return std::clamp((*first)->result.skips_from, from, (*first)->result.zeros);
}

std::string share_text(double share) { return share < 0 ? "never" : fmt::format("{:.0f} %", 100 * share); }

}  // namespace

Baselines parse_baselines(const std::vector<std::string>& names) {
  Baselines result;
  const auto add = [&](const char* name) {
    if (std::ranges::find(result.more, name) == result.more.end()) result.more.emplace_back(name);
  };
  for (const std::string& name : names) {
    result.best = result.best || name == "best";
    if (name != "direct" && name != "winograd" && name != "gemm" && name != "best")
      throw InputError("--baseline", fmt::format("unknown baseline '{}'", name),
                       "use direct, winograd, gemm or best");
    for (const char* one : {"winograd", "gemm"})
      if (name == one || name == "best") add(one);
  }
  return result;
}

std::vector<Crossover> crossovers(const std::vector<Case>& cases) {
  std::vector<Crossover> all;
  for (std::size_t first = 0; first < cases.size();) {
    const Case& c = cases[first];
    std::vector<const Case*> group;
    std::size_t next = first;
    for (; next < cases.size() && cases[next].network == c.network && cases[next].layer == c.layer &&
           cases[next].op == c.op;
         ++next)
      group.push_back(&cases[next]);
    first = next;
    if (group.size() < 2 || c.wanted_zeros < 0) continue;
    std::stable_sort(group.begin(), group.end(),
                     [](const Case* a, const Case* b) { return a->result.zeros < b->result.zeros; });
    const auto find = c.impl == Impl::kAuto ? auto_crossing : crossing;
    all.push_back({c.network, c.layer, c.shape.describe(), c.op,
                   find(group, [](const Case& one) { return one.x_direct(); }),
                   find(group, [](const Case& one) { return one.result.x_best(); })});
  }
  return all;
}

std::string crossover_table(const std::vector<Crossover>& all, const TextStyle& style) {
  if (all.empty()) return "";
  return "\n" +
         render_table<Crossover>(all,
                                 {{{"faster from (zeros)", Align::kLeft},
                                   [](const Crossover& c) { return printable(c.network + " " + c.layer); }},
                                  {{"shape", Align::kLeft}, [](const Crossover& c) { return c.shape; }},
                                  {{"operation", Align::kLeft},
                                   [](const Crossover& c) { return std::string(operation_name(c.op)); }},
                                  {{"than direct"}, [](const Crossover& c) { return share_text(c.direct); }},
                                  {{"than the best"}, [](const Crossover& c) { return share_text(c.best); }}},
                                 style);
}

}  // namespace lacuna::bench
