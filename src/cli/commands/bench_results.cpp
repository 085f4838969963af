#include "cli/commands/bench_results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/cpu.hpp"
#include "base/text/csv_text.hpp"
#include "base/text/text_table.hpp"
#include "base/version.hpp"
#include "kernels/choice/cost_model.hpp"

namespace lacuna::cli {
namespace {

const char* checked_name(Operand checked) {
  return checked == Operand::kA ? "A" : checked == Operand::kG ? "G" : "W";
}

std::string kind_of(const LayerShape& s) {
  std::string name = fmt::format("{}x{}", s.kernel.h, s.kernel.w);
  if (s.stride != Size2{1, 1}) name += fmt::format(" s{}", s.stride.h);
  return name;
}

bool timed_sparsetrain(const BenchCase& c) { return c.result.sparsetrain_x_direct > 0; }

// A column of what is not always timed.
std::string authors_cell(bool shown, const std::string& text, int width) {
  return shown ? fmt::format("  {:>{}}", text, width) : "";
}

std::string zeros_text(double zeros) { return zeros < 0 ? "trace" : fmt::format("{:.0f} %", 100 * zeros); }

}  // namespace

BenchMachine this_machine() {
  BenchMachine machine;
  const std::string key = kernels::machine_key();
  const auto first = key.find(" | ");
  const auto second = key.find(" | ", first + 3);
  machine.cpu = key.substr(first + 3, second - first - 3);
  machine.onednn = key.substr(second + 3);
  machine.isa = isa_name(best_isa());
  machine.peak_gflops = kernels::peak_gflops(1);
  return machine;
}

std::vector<BenchNetworkTotal> network_totals(const std::vector<BenchCase>& cases,
                                              const std::vector<std::pair<std::string, double>>& paper) {
  std::vector<BenchNetworkTotal> totals;
  for (const auto& [name, speedup] : paper) {
    std::vector<double> shares;
    for (const BenchCase& c : cases)
      if (c.network == name && std::find(shares.begin(), shares.end(), c.wanted_zeros) == shares.end())
        shares.push_back(c.wanted_zeros);
    for (const double zeros : shares) {
      BenchNetworkTotal total{name, zeros, speedup, 0, 0, 0};
      for (const BenchCase& c : cases) {
        if (c.network != name || c.wanted_zeros != zeros || c.initial) continue;
        const auto times = static_cast<double>(c.count);
        total.seconds += times * c.result.seconds;
        // From paired ratios, so that a slow moment of the machine affects both sides.
        total.direct += times * c.result.seconds * c.result.x_direct;
        total.automatic += times * c.result.seconds * c.result.x_auto;
        if (c.result.sparsetrain_x_direct > 0)
          total.sparsetrain += times * c.result.seconds * c.result.x_direct / c.result.sparsetrain_x_direct;
        for (const kernels::BaselineResult& one : c.result.baselines)
          if (one.impl == kernels::Impl::kAuto) total.float32 += times * c.result.seconds * one.ratio;
      }
      if (total.seconds > 0) totals.push_back(total);
    }
  }
  return totals;
}

std::vector<BenchGroup> group_means(const std::vector<BenchCase>& cases) {
  struct Sum {
    double logs = 0;
    double sparsetrain_logs = 0;
    double worst = 1e30;
    std::int64_t layers = 0;
  };
  std::map<std::tuple<std::string, Operation, double>, Sum> sums;
  auto add = [&](const std::string& name, const BenchCase& c) {
    Sum& sum = sums[{name, c.op, c.wanted_zeros}];
    sum.logs += static_cast<double>(c.count) * std::log(c.result.x_direct);
    if (timed_sparsetrain(c))
      sum.sparsetrain_logs += static_cast<double>(c.count) * std::log(c.result.sparsetrain_x_direct);
    sum.worst = std::min(sum.worst, c.result.x_direct);
    sum.layers += c.count;
  };
  for (const BenchCase& c : cases) {
    if (c.initial) continue;
    add(kind_of(c.shape), c);
    if (c.shape.kernel == Size2{3, 3}) add("3x3, all strides", c);
    if (c.shape.taps() == 1) {
      add("1x1, all strides", c);
      if (c.shape.k >= 128) add("1x1, K >= 128", c);
    }
  }
  std::vector<BenchGroup> groups;
  groups.reserve(sums.size());
  const bool authors = std::ranges::any_of(cases, timed_sparsetrain);
  for (const auto& [key, sum] : sums) {
    const auto layers = static_cast<double>(sum.layers);
    groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::exp(sum.logs / layers),
                      sum.worst, sum.layers, authors ? std::exp(sum.sparsetrain_logs / layers) : 0});
  }
  return groups;
}

std::string bench_tables(const BenchReport& report) {
  const auto& [cases, totals, groups, machine, complete, trainings, left_out, best, exact] = report;
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{}, {}, {:.0f} GFLOP/s of register multiply-adds per core, {}\n\n", machine.cpu,
                 machine.isa, machine.peak_gflops, machine.onednn);
  std::size_t width = 5;
  // Names come from files and may hold anything.
  const auto name = [](const BenchCase& c) { return printable(c.network + " " + c.layer); };
  for (const BenchCase& c : cases) width = std::max(width, name(c).size());
  // One more column for each baseline that was asked for.
  // Layers that stay in single precision have fewer.
  const auto most =
      std::ranges::max_element(cases, {}, [](const BenchCase& c) { return c.result.baselines.size(); });
  const auto more = [&](const BenchCase& c, bool heading) {
    std::string columns;
    for (std::size_t i = 0; i < most->result.baselines.size(); ++i) {
      const bool timed = i < c.result.baselines.size() && c.result.baselines[i].ratio > 0;
      columns += heading ? fmt::format("  {:>10}", fmt::format("x {}", most->result.baselines[i].name()))
                 : timed ? fmt::format("  {:>10.2f}", c.result.baselines[i].ratio)
                         : fmt::format("  {:>10}", "-");
    }
    if (report.best_column)
      columns += heading ? fmt::format("  {:>6}", "x best") : fmt::format("  {:>6.2f}", c.result.x_best());
    return columns;
  };
  const bool authors = std::ranges::any_of(cases, timed_sparsetrain);
  const std::string title = "sparsetrain x direct";
  fmt::format_to(out, "{:<{}}  {:<28}  {:<11}  {:>2}  {:>6}  {:>9}{}  {:>9}  {:>8}{}  {:>6}{}  {}\n", "layer",
                 width, "shape", "operation", "in", "zeros", "ours ms",
                 authors_cell(authors, "sparsetrain ms", 14), "direct ms", "x direct",
                 authors_cell(authors, title, 20), "x auto", cases.empty() ? "" : more(cases.front(), true),
                 "used");
  for (const BenchCase& c : cases)
    fmt::format_to(
        out, "{:<{}}  {:<28}  {:<11}  {:>2}  {:>5.1f}%  {:>9.2f}{}  {:>9.2f}  {:>8.2f}{}  {:>6.2f}{}  {}\n",
        name(c), width, c.shape.describe(), operation_name(c.op), checked_name(c.checked),
        100 * c.result.zeros, 1e3 * c.result.seconds,
        authors_cell(authors, fmt::format("{:.2f}", 1e3 * c.result.sparsetrain_seconds), 14),
        1e3 * c.result.direct_seconds, c.result.x_direct,
        authors_cell(authors, fmt::format("{:.2f}", c.result.sparsetrain_x_direct), 20), c.result.x_auto,
        more(c, false), impl_name(c.result.used));
  if (!groups.empty()) {
    fmt::format_to(out, "\n{:<19}  {:<11}  {:>6}  {:>6}  {:>8}  {:>8}{}\n", "geometric mean over",
                   "operation", "zeros", "layers", "x direct", "worst", authors_cell(authors, title, 20));
    for (const BenchGroup& g : groups)
      fmt::format_to(out, "{:<19}  {:<11}  {:>6}  {:>6}  {:>8.2f}  {:>8.2f}{}\n", g.name,
                     operation_name(g.op), zeros_text(g.zeros), g.layers, g.x_direct, g.worst,
                     authors_cell(authors, fmt::format("{:.2f}", g.sparsetrain_x_direct), 20));
  }
  if (!totals.empty()) {
    const bool float32 = totals.front().float32 > 0;
    fmt::format_to(out, "\n{:<24}  {:>6}  {:>8}{}  {:>6}{}  {}\n", "non-initial convolutions", "zeros",
                   "x direct", authors_cell(authors, title, 20), "x auto",
                   authors_cell(float32, "x float32", 9), "paper (with its zeros)");
    for (const BenchNetworkTotal& t : totals)
      fmt::format_to(out, "{:<24}  {:>6}  {:>8.2f}{}  {:>6.2f}{}  {}\n", printable(t.name),
                     zeros_text(t.zeros), t.x_direct(),
                     authors_cell(authors, fmt::format("{:.2f}", t.direct / t.sparsetrain), 20), t.x_auto(),
                     authors_cell(float32, fmt::format("{:.2f}", t.float32 / t.seconds), 9),
                     t.paper > 0 ? fmt::format("{:.2f}", t.paper) : "-");
  }
  if (!trainings.empty()) text += training_table(trainings);
  if (!left_out.empty())
    fmt::format_to(out, "\nleft out, since sparsetrain has no kernel for them or they are initial: {}\n",
                   printable(fmt::format("{}", fmt::join(left_out, ", "))));
  if (!complete) text += "\nstopped before the end; sums over networks are left out\n";
  return text;
}

std::string bench_json(const BenchReport& report) {
  const auto& [cases, totals, groups, machine, complete, trainings, left_out, best, exact] = report;
  using nlohmann::ordered_json;
  ordered_json json;
  json["schema"] = 1;
  json["lacuna"] = version();
  json["machine"] = {{"cpu", machine.cpu},
                     {"isa", machine.isa},
                     {"onednn", machine.onednn},
                     {"peak_gflops", machine.peak_gflops}};
  json["exact"] = exact;
  json["complete"] = complete;
  json["cases"] = ordered_json::array();
  for (const BenchCase& c : cases) {
    ordered_json entry;
    entry["layer"] = c.layer;
    entry["op"] = operation_name(c.op);
    entry["zeros"] = c.result.zeros;
    entry["threads"] = c.threads;
    entry["impl"] = impl_name(c.impl);
    entry["x_direct"] = c.result.x_direct;
    entry["x_auto"] = c.result.x_auto;
    entry["network"] = c.network;
    entry["shape"] = c.shape.describe();
    entry["batch"] = c.shape.n;
    entry["count"] = c.count;
    entry["initial"] = c.initial;
    entry["checked"] = checked_name(c.checked);
    entry["used"] = impl_name(c.result.used);
    entry["seconds"] = c.result.seconds;
    entry["direct_seconds"] = c.result.direct_seconds;
    entry["auto_seconds"] = c.result.auto_seconds;
    if (timed_sparsetrain(c))
      entry["sparsetrain"] = {{"seconds", c.result.sparsetrain_seconds},
                              {"x_direct", c.result.sparsetrain_x_direct}};
    if (c.result.x_blocked > 0) entry["x_blocked"] = c.result.x_blocked;
    if (c.result.best_x_itself > 0) entry["best_x_itself"] = c.result.best_x_itself;
    entry["rounds"] = c.result.rounds;
    entry["kernel"] = c.result.kernel;
    entry["direct_kernel"] = c.result.direct_kernel;
    entry["auto_kernel"] = c.result.auto_kernel;
    if (!c.result.baselines.empty()) entry["x_best"] = c.result.x_best();
    for (const kernels::BaselineResult& one : c.result.baselines)
      if (one.ratio > 0)
        entry["baselines"][one.name()] = {{"x", one.ratio}, {"seconds", one.seconds}, {"kernel", one.kernel}};
    json["cases"].push_back(entry);
  }
  json["networks"] = ordered_json::array();
  for (const BenchNetworkTotal& t : totals) {
    ordered_json entry{{"name", t.name}, {"x_direct", t.x_direct()}, {"x_auto", t.x_auto()}};
    if (t.zeros >= 0) entry["zeros"] = t.zeros;
    if (t.paper > 0) entry["paper"] = t.paper;
    if (t.sparsetrain > 0) entry["sparsetrain_x_direct"] = t.direct / t.sparsetrain;
    if (t.float32 > 0) entry["x_float32"] = t.float32 / t.seconds;
    json["networks"].push_back(entry);
  }
  json["groups"] = ordered_json::array();
  for (const BenchGroup& g : groups) {
    ordered_json entry{{"name", g.name},     {"op", operation_name(g.op)}, {"zeros", g.zeros},
                       {"layers", g.layers}, {"x_direct", g.x_direct},     {"worst", g.worst}};
    if (g.sparsetrain_x_direct > 0) entry["sparsetrain_x_direct"] = g.sparsetrain_x_direct;
    json["groups"].push_back(entry);
  }
  if (!trainings.empty()) json["trainings"] = training_json(trainings);
  // The name of a file may hold any bytes.
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string bench_csv(const std::vector<BenchCase>& cases) {
  constexpr std::array kMore = {kernels::Impl::kDenseWinograd, kernels::Impl::kDenseGemm};
  std::string text =
      "network,layer,shape,batch,count,op,checked,zeros,threads,impl,used,seconds,direct_seconds,auto_"
      "seconds,"
      "x_direct,x_auto,rounds,sparsetrain_seconds,sparsetrain_x_direct";
  auto out = std::back_inserter(text);
  for (const kernels::Impl impl : kMore) fmt::format_to(out, ",{0}_seconds,x_{0}", impl_name(impl));
  const bool beside_blocked =
      std::ranges::any_of(cases, [](const BenchCase& c) { return c.result.x_blocked > 0; });
  text += beside_blocked ? ",x_best,x_blocked\n" : ",x_best\n";
  for (const BenchCase& c : cases) {
    fmt::format_to(out, "{},{},\"{}\",{},{},{},{},{:.6f},{},{},{},{:.9f},{:.9f},{:.9f},{:.4f},{:.4f},{},{}",
                   csv_text(c.network), csv_text(c.layer), c.shape.describe(), c.shape.n, c.count,
                   operation_name(c.op), checked_name(c.checked), c.result.zeros, c.threads,
                   impl_name(c.impl), impl_name(c.result.used), c.result.seconds, c.result.direct_seconds,
                   c.result.auto_seconds, c.result.x_direct, c.result.x_auto, c.result.rounds,
                   timed_sparsetrain(c) ? fmt::format("{:.9f},{:.4f}", c.result.sparsetrain_seconds,
                                                      c.result.sparsetrain_x_direct)
                                        : ",");
    // Empty where a baseline was not asked for or has no kernel for the layer.
    for (const kernels::Impl impl : kMore) {
      const auto one = std::ranges::find(c.result.baselines, impl, &kernels::BaselineResult::impl);
      const bool timed = one != c.result.baselines.end() && one->ratio > 0;
      text += timed ? fmt::format(",{:.9f},{:.4f}", one->seconds, one->ratio) : ",,";
    }
    text += c.result.baselines.empty() ? "," : fmt::format(",{:.4f}", c.result.x_best());
    text += beside_blocked ? fmt::format(",{:.4f}\n", c.result.x_blocked) : "\n";
  }
  return text;
}

}  // namespace lacuna::cli
