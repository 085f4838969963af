#include "cli/commands/bench_baselines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "base/error.hpp"
#include "base/text/text_table.hpp"

namespace lacuna::cli {
namespace {

using kernels::Impl;

// Cases in the order of their zeros; ratio: how many times faster ours is.
double crossing(const std::vector<const BenchCase*>& cases,
                const std::function<double(const BenchCase&)>& ratio) {
  const auto time = [&](const BenchCase& c) { return 1 / ratio(c); };  // in times of the baseline
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

// Below the share from which on auto skips, it runs one of the baselines: a tie, whatever the noise says.
double auto_crossing(const std::vector<const BenchCase*>& cases,
                     const std::function<double(const BenchCase&)>& ratio) {
  const auto faster = [&](const BenchCase* c) { return c->result.used == Impl::kSparse && ratio(*c) > 1; };
  const auto first = std::find_if(cases.begin(), cases.end(), faster);
  if (first == cases.end()) return -1;
  const double from = first == cases.begin() ? 0 : (*std::prev(first))->result.zeros;
  return std::clamp((*first)->result.skips_from, from, (*first)->result.zeros);
}

std::string share_text(double share) { return share < 0 ? "never" : fmt::format("{:.0f} %", 100 * share); }

}  // namespace

BenchBaselines parse_baselines(const std::vector<std::string>& names) {
  BenchBaselines result;
  result.asked = !names.empty();
  const auto add = [&](Impl impl) {
    if (std::find(result.more.begin(), result.more.end(), impl) == result.more.end())
      result.more.push_back(impl);
  };
  for (const std::string& name : names) {
    if (name == "winograd")
      add(Impl::kDenseWinograd);
    else if (name == "gemm")
      add(Impl::kDenseGemm);
    else if (name == "best")
      result.best = true;
    else if (name != "direct")
      throw InputError("--baseline", fmt::format("unknown baseline '{}'", name),
                       "use direct, winograd, gemm or best");
  }
  if (result.best) {
    add(Impl::kDenseWinograd);
    add(Impl::kDenseGemm);
  }
  return result;
}

std::vector<Crossover> crossovers(const std::vector<BenchCase>& cases) {
  std::vector<Crossover> all;
  for (std::size_t first = 0; first < cases.size();) {
    const BenchCase& c = cases[first];
    std::vector<const BenchCase*> group;
    std::size_t next = first;
    for (; next < cases.size() && cases[next].network == c.network && cases[next].layer == c.layer &&
           cases[next].op == c.op;
         ++next)
      group.push_back(&cases[next]);
    first = next;
    if (group.size() < 2 || c.wanted_zeros < 0) continue;
    std::stable_sort(group.begin(), group.end(), [](const BenchCase* a, const BenchCase* b) {
      return a->result.zeros < b->result.zeros;
    });
    const auto find = c.impl == Impl::kAuto ? auto_crossing : crossing;
    all.push_back({c.network, c.layer, c.shape.describe(), c.op,
                   find(group, [](const BenchCase& one) { return one.result.x_direct; }),
                   find(group, [](const BenchCase& one) { return one.result.x_best(); })});
  }
  return all;
}

std::string crossover_table(const std::vector<Crossover>& all) {
  std::string text;
  if (all.empty()) return text;
  auto out = std::back_inserter(text);
  std::size_t width = 5;
  const auto name = [](const Crossover& c) { return printable(c.network + " " + c.layer); };
  for (const Crossover& c : all) width = std::max(width, name(c).size());
  fmt::format_to(out, "\n{:<{}}  {:<28}  {:<11}  {:>22}  {:>16}\n", "faster from (zeros)", width, "shape",
                 "operation", "than direct", "than the best");
  for (const Crossover& c : all)
    fmt::format_to(out, "{:<{}}  {:<28}  {:<11}  {:>22}  {:>16}\n", name(c), width, c.shape,
                   operation_name(c.op), share_text(c.direct), share_text(c.best));
  return text;
}

}  // namespace lacuna::cli
