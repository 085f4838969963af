#include "bench/layers/layers_report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/csv.hpp"
#include "bench/columns.hpp"

namespace lacuna::bench {

using nlohmann::ordered_json;

namespace {

std::string checked_name(Operand checked) {
  return checked == Operand::kA ? "A" : checked == Operand::kG ? "G" : "W";
}

std::string kind_of(const LayerShape& s) {
  std::string name = fmt::format("{}x{}", s.kernel.h, s.kernel.w);
  if (s.stride != Size2{1, 1}) name += fmt::format(" s{}", s.stride.h);
  return name;
}

using kernels::BaselineResult;
using kernels::Impl;

constexpr const char* kAuthorsTitle = "sparsetrain x direct";

std::string number(double value, int digits = 2) { return fmt::format("{:.{}f}", value, digits); }
std::string milliseconds(double seconds) { return number(1e3 * seconds); }
std::string zeros_text(double zeros) { return zeros < 0 ? "trace" : fmt::format("{:.0f} %", 100 * zeros); }
std::string op_text(Operation op) { return std::string(operation_name(op)); }

TableColumn left(const char* title) { return {title, Align::kLeft}; }

std::string cases_table(const LayersReport& report, const TextStyle& style) {
  std::vector<Column<Case>> columns = {
      // Names come from files and may hold anything.
      {left("layer"), [](const Case& c) { return printable(c.network + " " + c.layer); }},
      {left("shape"), [](const Case& c) { return c.shape.describe(); }},
      {left("operation"), [](const Case& c) { return op_text(c.op); }},
      {left("in"), [](const Case& c) { return checked_name(c.checked); }},
      {{"zeros"}, [](const Case& c) { return fmt::format("{:.1f}%", 100 * c.result.zeros); }},
      {{"ours ms"}, [](const Case& c) { return milliseconds(c.result.seconds); }}};
  const bool authors = std::ranges::any_of(report.cases, &Case::timed_sparsetrain);
  if (authors)
    columns.push_back(
        {{"sparsetrain ms"}, [](const Case& c) { return milliseconds(c.result.sparsetrain_seconds); }});
  columns.push_back({{"direct ms"}, [](const Case& c) { return milliseconds(c.result.direct_seconds); }});
  columns.push_back({{"x direct"}, [](const Case& c) { return number(c.result.x_direct); }});
  if (authors)
    columns.push_back({{kAuthorsTitle}, [](const Case& c) { return number(c.result.sparsetrain_x_direct); }});
  columns.push_back({{"x auto"}, [](const Case& c) { return number(c.result.x_auto); }});
  // A column for each baseline; layers that stay in single precision have fewer.
  const auto most =
      std::ranges::max_element(report.cases, {}, [](const Case& c) { return c.result.baselines.size(); });
  for (std::size_t i = 0; most != report.cases.end() && i < most->result.baselines.size(); ++i)
    columns.push_back({{fmt::format("x {}", most->result.baselines[i].name())}, [i](const Case& c) {
                         const auto& all = c.result.baselines;
                         return i < all.size() && all[i].ratio > 0 ? number(all[i].ratio) : "-";
                       }});
  if (report.best_column)
    columns.push_back({{"x best"}, [](const Case& c) { return number(c.result.x_best()); }});
  columns.push_back({left("used"), [](const Case& c) { return std::string(impl_name(c.result.used)); }});
  return render_table(report.cases, columns, style);
}

std::string groups_table(const std::vector<GroupMean>& groups, const TextStyle& style) {
  std::vector<Column<GroupMean>> columns = {
      {left("geometric mean over"), [](const GroupMean& g) { return g.name; }},
      {left("operation"), [](const GroupMean& g) { return op_text(g.op); }},
      {{"zeros"}, [](const GroupMean& g) { return zeros_text(g.zeros); }},
      {{"layers"}, [](const GroupMean& g) { return std::to_string(g.layers); }},
      {{"x direct"}, [](const GroupMean& g) { return number(g.x_direct); }},
      {{"worst"}, [](const GroupMean& g) { return number(g.worst); }}};
  if (groups.front().sparsetrain_x_direct > 0)
    columns.push_back({{kAuthorsTitle}, [](const GroupMean& g) { return number(g.sparsetrain_x_direct); }});
  return render_table(groups, columns, style);
}

std::string totals_table(const std::vector<NetworkTotal>& totals, const TextStyle& style) {
  using Total = NetworkTotal;
  std::vector<Column<Total>> columns = {
      {left("non-initial convolutions"), [](const Total& t) { return printable(t.name); }},
      {{"zeros"}, [](const Total& t) { return zeros_text(t.zeros); }},
      {{"x direct"}, [](const Total& t) { return number(t.x_direct()); }}};
  if (totals.front().sparsetrain > 0)
    columns.push_back({{kAuthorsTitle}, [](const Total& t) { return number(t.direct / t.sparsetrain); }});
  columns.push_back({{"x auto"}, [](const Total& t) { return number(t.x_auto()); }});
  if (totals.front().float32 > 0)
    columns.push_back({{"x float32"}, [](const Total& t) { return number(t.float32 / t.seconds); }});
  columns.push_back(
      {left("paper (with its zeros)"), [](const Total& t) { return t.paper > 0 ? number(t.paper) : "-"; }});
  return render_table(totals, columns, style);
}

}  // namespace

std::vector<NetworkTotal> network_totals(const std::vector<Case>& cases,
                                         const std::vector<std::pair<std::string, double>>& paper) {
  std::vector<NetworkTotal> totals;
  for (const auto& [name, speedup] : paper) {
    std::vector<double> shares;
    for (const Case& c : cases)
      if (c.network == name && std::find(shares.begin(), shares.end(), c.wanted_zeros) == shares.end())
        shares.push_back(c.wanted_zeros);
    for (const double zeros : shares) {
      NetworkTotal total{name, zeros, speedup, 0, 0, 0};
      for (const Case& c : cases) {
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

std::vector<GroupMean> group_means(const std::vector<Case>& cases) {
  struct Sum {
    double logs = 0;
    double sparsetrain_logs = 0;
    double worst = 1e30;
    std::int64_t layers = 0;
  };
  std::map<std::tuple<std::string, Operation, double>, Sum> sums;
  auto add = [&](const std::string& name, const Case& c) {
    Sum& sum = sums[{name, c.op, c.wanted_zeros}];
    sum.logs += static_cast<double>(c.count) * std::log(c.result.x_direct);
    if (c.timed_sparsetrain())
      sum.sparsetrain_logs += static_cast<double>(c.count) * std::log(c.result.sparsetrain_x_direct);
    sum.worst = std::min(sum.worst, c.result.x_direct);
    sum.layers += c.count;
  };
  for (const Case& c : cases) {
    if (c.initial) continue;
    add(kind_of(c.shape), c);
    if (c.shape.kernel == Size2{3, 3}) add("3x3, all strides", c);
    if (c.shape.taps() == 1) {
      add("1x1, all strides", c);
      if (c.shape.k >= 128) add("1x1, K >= 128", c);
    }
  }
  std::vector<GroupMean> groups;
  groups.reserve(sums.size());
  const bool authors = std::ranges::any_of(cases, &Case::timed_sparsetrain);
  for (const auto& [key, sum] : sums) {
    const auto layers = static_cast<double>(sum.layers);
    groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::exp(sum.logs / layers),
                      sum.worst, sum.layers, authors ? std::exp(sum.sparsetrain_logs / layers) : 0});
  }
  return groups;
}

std::string layers_text(const LayersReport& report, const std::string& summary, const TextStyle& style) {
  const Machine& machine = report.machine;
  std::string text = fmt::format("{}, {}, {:.0f} GFLOP/s of register multiply-adds per core, {}\n\n",
                                 machine.cpu, machine.isa, machine.peak_gflops, machine.onednn);
  text += cases_table(report, style);
  if (!report.groups.empty()) text += "\n" + groups_table(report.groups, style);
  if (!report.totals.empty()) text += "\n" + totals_table(report.totals, style);
  text += summary;
  if (!report.left_out.empty())
    text += fmt::format("\nleft out, since {} has no kernel for them{}: {}\n", report.impl,
                        report.impl == "sparsetrain" ? " or they are initial" : "",
                        printable(fmt::format("{}", fmt::join(report.left_out, ", "))));
  if (!report.complete) text += "\nstopped before the end; sums over networks are left out\n";
  return text;
}

ordered_json layers_json(const LayersReport& report) {
  ordered_json json = json_head(report.machine);
  json["exact"] = report.exact;
  json["complete"] = report.complete;
  json["cases"] = ordered_json::array();
  for (const Case& c : report.cases) {
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
    if (c.timed_sparsetrain())
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
  for (const NetworkTotal& t : report.totals) {
    ordered_json entry{{"name", t.name}, {"x_direct", t.x_direct()}, {"x_auto", t.x_auto()}};
    if (t.zeros >= 0) entry["zeros"] = t.zeros;
    if (t.paper > 0) entry["paper"] = t.paper;
    if (t.sparsetrain > 0) entry["sparsetrain_x_direct"] = t.direct / t.sparsetrain;
    if (t.float32 > 0) entry["x_float32"] = t.float32 / t.seconds;
    json["networks"].push_back(entry);
  }
  json["groups"] = ordered_json::array();
  for (const GroupMean& g : report.groups) {
    ordered_json entry{{"name", g.name},     {"op", operation_name(g.op)}, {"zeros", g.zeros},
                       {"layers", g.layers}, {"x_direct", g.x_direct},     {"worst", g.worst}};
    if (g.sparsetrain_x_direct > 0) entry["sparsetrain_x_direct"] = g.sparsetrain_x_direct;
    json["groups"].push_back(entry);
  }
  return json;
}

std::string layers_csv(const std::vector<Case>& cases) {
  const auto seconds = [](double value) { return number(value, 9); };
  const auto ratio = [](double value) { return number(value, 4); };
  std::vector<Column<Case>> columns = {
      {{"network"}, [](const Case& c) { return csv_text(c.network); }},
      {{"layer"}, [](const Case& c) { return csv_text(c.layer); }},
      {{"shape"}, [](const Case& c) { return fmt::format("\"{}\"", c.shape.describe()); }},
      {{"batch"}, [](const Case& c) { return std::to_string(c.shape.n); }},
      {{"count"}, [](const Case& c) { return std::to_string(c.count); }},
      {{"op"}, [](const Case& c) { return op_text(c.op); }},
      {{"checked"}, [](const Case& c) { return checked_name(c.checked); }},
      {{"zeros"}, [](const Case& c) { return number(c.result.zeros, 6); }},
      {{"threads"}, [](const Case& c) { return std::to_string(c.threads); }},
      {{"impl"}, [](const Case& c) { return std::string(impl_name(c.impl)); }},
      {{"used"}, [](const Case& c) { return std::string(impl_name(c.result.used)); }},
      {{"seconds"}, [=](const Case& c) { return seconds(c.result.seconds); }},
      {{"direct_seconds"}, [=](const Case& c) { return seconds(c.result.direct_seconds); }},
      {{"auto_seconds"}, [=](const Case& c) { return seconds(c.result.auto_seconds); }},
      {{"x_direct"}, [=](const Case& c) { return ratio(c.result.x_direct); }},
      {{"x_auto"}, [=](const Case& c) { return ratio(c.result.x_auto); }},
      {{"rounds"}, [](const Case& c) { return std::to_string(c.result.rounds); }},
      {{"sparsetrain_seconds"},
       [=](const Case& c) { return c.timed_sparsetrain() ? seconds(c.result.sparsetrain_seconds) : ""; }},
      {{"sparsetrain_x_direct"},
       [=](const Case& c) { return c.timed_sparsetrain() ? ratio(c.result.sparsetrain_x_direct) : ""; }}};
  // Empty where a baseline was not asked for or has no kernel for the layer.
  for (const Impl impl : {Impl::kDenseWinograd, Impl::kDenseGemm}) {
    const auto cell = [impl](const auto& format, double BaselineResult::*value) {
      return [=](const Case& c) {
        const auto one = std::ranges::find(c.result.baselines, impl, &BaselineResult::impl);
        return one != c.result.baselines.end() && one->ratio > 0 ? format((*one).*value) : std::string();
      };
    };
    columns.push_back(
        {{fmt::format("{}_seconds", impl_name(impl))}, cell(seconds, &BaselineResult::seconds)});
    columns.push_back({{fmt::format("x_{}", impl_name(impl))}, cell(ratio, &BaselineResult::ratio)});
  }
  columns.push_back({{"x_best"}, [=](const Case& c) {
                       return c.result.baselines.empty() ? "" : ratio(c.result.x_best());
                     }});
  if (std::ranges::any_of(cases, [](const Case& c) { return c.result.x_blocked > 0; }))
    columns.push_back({{"x_blocked"}, [=](const Case& c) { return ratio(c.result.x_blocked); }});
  return render_csv(cases, columns);
}

}  // namespace lacuna::bench
