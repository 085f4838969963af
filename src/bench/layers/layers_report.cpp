#include "bench/layers/layers_report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "bench/columns.hpp"

namespace lacuna::bench {

namespace {

std::string checked_name(Operand checked) {
  return checked == Operand::kA ? "A" : checked == Operand::kG ? "G" : "W";
}

std::string kind_of(const LayerShape& s) {
  std::string name = fmt::format("{}x{}", s.kernel.h, s.kernel.w);
  if (s.stride != Size2{1, 1}) name += fmt::format(" s{}", s.stride.h);
  return name;
}

using kernels::RivalResult;

constexpr const char* kAuthorsTitle = "sparsetrain x direct";

std::string number(double value, int digits = 2) { return fmt::format("{:.{}f}", value, digits); }
std::string milliseconds(double seconds) { return number(1e3 * seconds); }
std::string zeros_text(double zeros) { return zeros < 0 ? "trace" : fmt::format("{:.0f} %", 100 * zeros); }
std::string op_text(Operation op) { return std::string(operation_name(op)); }

TableColumn left(const char* title) { return {title, Align::kLeft}; }

bool timed_authors(const std::vector<Case>& cases) {
  return std::ranges::any_of(cases, [](const Case& c) { return c.authors_x_direct() > 0; });
}

std::string cases_table(const LayersReport& report, const TextStyle& style) {
  std::vector<Column<Case>> columns = {
      // Names come from files and may hold anything.
      {left("layer"), [](const Case& c) { return printable(c.network + " " + c.layer); }},
      {left("shape"), [](const Case& c) { return c.shape.describe(); }},
      {left("operation"), [](const Case& c) { return op_text(c.op); }},
      {left("in"), [](const Case& c) { return checked_name(c.checked); }},
      {{"zeros"}, [](const Case& c) { return fmt::format("{:.1f}%", 100 * c.result.zeros); }},
      {{"ours ms"}, [](const Case& c) { return milliseconds(c.result.seconds); }}};
  const bool authors = timed_authors(report.cases);
  if (authors)
    columns.push_back({{"sparsetrain ms"},
                       [](const Case& c) { return milliseconds(c.result.rival("sparsetrain").seconds); }});
  columns.push_back({{"direct ms"}, [](const Case& c) { return milliseconds(c.result.direct().seconds); }});
  columns.push_back({{"x direct"}, [](const Case& c) { return number(c.x_direct()); }});
  if (authors)
    columns.push_back({{kAuthorsTitle}, [](const Case& c) { return number(c.authors_x_direct()); }});
  columns.push_back({{"x auto"}, [](const Case& c) { return number(c.x_auto()); }});
  // A column for each baseline; layers that stay in single precision have fewer.
  const auto most =
      std::ranges::max_element(report.cases, {}, [](const Case& c) { return c.result.rivals.size(); });
  if (most != report.cases.end())
    for (const RivalResult& one : most->result.baselines())
      columns.push_back({{"x " + one.name}, [name = one.name](const Case& c) {
                           const double ratio = c.result.rival(name).ratio;
                           return ratio > 0 ? number(ratio) : "-";
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
        total.direct += times * c.result.seconds * c.x_direct();
        total.automatic += times * c.result.seconds * c.x_auto();
        if (c.authors_x_direct() > 0)
          total.sparsetrain += times * c.result.seconds * c.x_direct() / c.authors_x_direct();
        total.float32 += times * c.result.seconds * c.result.rival("float32").ratio;
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
    sum.logs += static_cast<double>(c.count) * std::log(c.x_direct());
    if (c.authors_x_direct() > 0)
      sum.sparsetrain_logs += static_cast<double>(c.count) * std::log(c.authors_x_direct());
    sum.worst = std::min(sum.worst, c.x_direct());
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
  const bool authors = timed_authors(cases);
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

namespace {

// A ratio or a time that is 0 where it was not measured.
Json measured(double value) { return value > 0 ? Json(value) : Json(); }

std::vector<Field<Case>> case_fields() {
  const char* const seconds = "{:.9f}";
  const char* const ratio = "{:.4f}";
  return {{"network", [](const Case& c) { return c.network; }},
          {"layer", [](const Case& c) { return c.layer; }},
          {"shape", [](const Case& c) { return c.shape.describe(); }},
          {"batch", [](const Case& c) { return c.shape.n; }},
          {"count", [](const Case& c) { return c.count; }},
          {"op", [](const Case& c) { return operation_name(c.op); }},
          {"checked", [](const Case& c) { return checked_name(c.checked); }},
          {"zeros", [](const Case& c) { return c.result.zeros; }, "{:.6f}"},
          {"threads", [](const Case& c) { return c.threads; }},
          {"impl", [](const Case& c) { return impl_name(c.impl); }},
          {"used", [](const Case& c) { return impl_name(c.result.used); }},
          {"seconds", [](const Case& c) { return c.result.seconds; }, seconds},
          {"direct_seconds", [](const Case& c) { return c.result.direct().seconds; }, seconds},
          {"auto_seconds", [](const Case& c) { return c.result.automatic().seconds; }, seconds},
          {"x_direct", [](const Case& c) { return c.x_direct(); }, ratio},
          {"x_auto", [](const Case& c) { return c.x_auto(); }, ratio},
          {"rounds", [](const Case& c) { return c.result.rounds; }}};
}

Json x_best(const Case& c) { return c.result.baselines().empty() ? Json() : Json(c.result.x_best()); }
Json x_blocked(const Case& c) { return measured(c.result.rival("blocked").ratio); }

}  // namespace

Json layers_json(const LayersReport& report) {
  Json json = document_of(report.machine);
  json["exact"] = report.exact;
  json["complete"] = report.complete;
  json["cases"] = json["networks"] = json["groups"] = Json::array();
  std::vector<Field<Case>> fields = case_fields();
  fields.insert(fields.end(),
                {{"initial", [](const Case& c) { return c.initial; }},
                 {"kernel", [](const Case& c) { return c.result.kernel; }},
                 {"direct_kernel", [](const Case& c) { return c.result.direct().kernel; }},
                 {"auto_kernel", [](const Case& c) { return c.result.automatic().kernel; }},
                 {"x_best", x_best},
                 {"x_blocked", x_blocked},
                 {"best_x_itself", [](const Case& c) { return measured(c.result.best_x_itself); }}});
  for (const Case& c : report.cases) {
    Json& entry = json["cases"].emplace_back();
    add_json(entry, c, fields);
    if (const RivalResult& authors = c.result.rival("sparsetrain"); authors.ratio > 0)
      entry["sparsetrain"] = {{"seconds", authors.seconds}, {"x_direct", authors.x_direct}};
    for (const RivalResult& one : c.result.baselines())
      if (one.ratio > 0)
        entry["baselines"][one.name] = {{"x", one.ratio}, {"seconds", one.seconds}, {"kernel", one.kernel}};
  }
  using Total = NetworkTotal;
  for (const Total& t : report.totals)
    add_json<Total>(
        json["networks"].emplace_back(), t,
        {{"name", [](const Total& one) { return one.name; }},
         {"x_direct", [](const Total& one) { return one.x_direct(); }},
         {"x_auto", [](const Total& one) { return one.x_auto(); }},
         {"zeros", [](const Total& one) { return one.zeros < 0 ? Json() : Json(one.zeros); }},
         {"paper", [](const Total& one) { return measured(one.paper); }},
         {"sparsetrain_x_direct",
          [](const Total& one) { return measured(one.sparsetrain > 0 ? one.direct / one.sparsetrain : 0); }},
         {"x_float32", [](const Total& one) { return measured(one.float32 / one.seconds); }}});
  for (const GroupMean& g : report.groups) {
    Json& entry = json["groups"].emplace_back();
    entry = {{"name", g.name},     {"op", operation_name(g.op)}, {"zeros", g.zeros},
             {"layers", g.layers}, {"x_direct", g.x_direct},     {"worst", g.worst}};
    if (g.sparsetrain_x_direct > 0) entry["sparsetrain_x_direct"] = g.sparsetrain_x_direct;
  }
  return json;
}

std::string layers_csv(const std::vector<Case>& cases) {
  std::vector<Field<Case>> fields = case_fields();
  // Empty where a baseline was not asked for or has no kernel for the layer.
  const auto add = [&](const std::string& name, const std::string& rival, double RivalResult::*value,
                       const char* format) {
    fields.push_back({name, [=](const Case& c) { return measured(c.result.rival(rival).*value); }, format});
  };
  add("sparsetrain_seconds", "sparsetrain", &RivalResult::seconds, "{:.9f}");
  add("sparsetrain_x_direct", "sparsetrain", &RivalResult::x_direct, "{:.4f}");
  for (const std::string name : {"winograd", "gemm"}) {
    add(name + "_seconds", name, &RivalResult::seconds, "{:.9f}");
    add("x_" + name, name, &RivalResult::ratio, "{:.4f}");
  }
  fields.push_back({"x_best", x_best, "{:.4f}"});
  if (std::ranges::any_of(cases, [](const Case& c) { return c.result.rival("blocked").ratio > 0; }))
    fields.push_back({"x_blocked", x_blocked, "{:.4f}"});
  return render_csv(cases, fields);
}

}  // namespace lacuna::bench
