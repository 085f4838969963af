// What the SCNN-like machine and ANT give on traces, as Markdown: speedups by network and operation,
// redundant products removed, where the time goes, and the switches of docs/models/ant.md one at a time.
//   outer_product_study TRACE...              the main table
//   outer_product_study --vary TRACE...       the switches too
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "trace/trace.hpp"

namespace lacuna {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

RunResult run(const Trace& trace, const std::string& arch, const Settings& settings) {
  const AcceleratorModel* model = AcceleratorRegistry::instance().find(arch);
  Params params(model->name, model->params);
  for (const auto& [key, value] : settings) params.set(key, value, "study");
  return simulate_trace(trace, *model->make(std::move(params)), arch, {}, 1);
}

// A counter's sum over layers; one operation or, without it, all.
double sum(const RunResult& run, const char* name, const Operation* op = nullptr) {
  double total = 0;
  for (const LayerResult& layer : run.layers) {
    for (const OpResult& result : layer.ops) {
      if (op != nullptr && result.op != *op) continue;
      for (const Counter& counter : result.counters) {
        if (counter.name == name) total += layer.batch_scale * static_cast<double>(counter.value);
      }
    }
  }
  return total;
}

double cycles(const RunResult& run, const Operation* op = nullptr) {
  const Totals totals = run.per_batch();
  return op == nullptr ? totals.all.cycles : totals.of(*op).cycles;
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void print_main_row(const std::string& name, const RunResult& scnn, const RunResult& ant) {
  fmt::print("| {} |", name);
  for (const Operation op : kOperations) fmt::print(" {:.2f} |", cycles(scnn, &op) / cycles(ant, &op));
  fmt::print(" {:.2f} |", cycles(scnn) / cycles(ant));
  fmt::print(" {:.1f} % |", percent(sum(ant, "rcps"), sum(ant, "cartesian_products")));
  for (const Operation op : kOperations) {
    fmt::print(" {:.1f} % |", percent(sum(ant, "rcps_anticipated", &op), sum(ant, "rcps", &op)));
  }
  fmt::print(" {:.1f} % |", percent(sum(ant, "rcps_anticipated"), sum(ant, "rcps")));
  fmt::print(" {:.3f} | {:.2f} |\n", scnn.per_batch().all.speedup(), ant.per_batch().all.speedup());
}

void print_causes(const std::string& name, const RunResult& run) {
  const double lanes = 16;  // n = 4
  const double slots = sum(run, "multiplier_slots");
  fmt::print("| {} {} |", name, run.arch);
  for (const char* counter : {"useful_products", "rcps_residual", "fragmented_slots"}) {
    fmt::print(" {:.2f} % |", percent(sum(run, counter), slots));
  }
  for (const char* counter :
       {"bubbles", "conflict_stalls", "fill_cycles", "imbalance_cycles", "idle_pe_cycles"}) {
    fmt::print(" {:.2f} % |", percent(lanes * sum(run, counter), slots));
  }
  fmt::print("\n");
}

struct Variant {
  std::string name;
  Settings both, ant_only;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> kVariants{
      {"default (n 4, k 16)", {}, {}},
      {"k 8", {}, {{"k", "8"}}},
      {"k 64", {}, {{"k", "64"}}},
      {"k 1048576 (unlimited)", {}, {{"k", "1048576"}}},
      {"n 2", {{"n", "2"}}, {}},
      {"n 8", {{"n", "8"}}, {}},
      {"empty range free", {}, {{"empty_cost", "0"}}},
      {"fill for each pair (2 / 5)", {{"fill_scope", "pair"}}, {}},
      {"fill for each pair, 5 for both", {{"fill_scope", "pair"}, {"fill", "5"}}, {}},
      {"bank conflicts, 32 banks", {{"conflicts", "on"}}, {}},
      {"mapping scnn-tiles", {{"mapping", "scnn-tiles"}}, {}},
      {"multipliers 256", {{"multipliers", "256"}}, {}},
      {"multipliers 4096", {{"multipliers", "4096"}}, {}},
      {"linear by channels", {{"linear", "channels"}}, {}},
  };
  return kVariants;
}

int study(const std::vector<std::string>& paths, bool vary) {
  fmt::print(
      "| trace | forward | input_grad | weight_grad | all | RCP share | removed: forward | input_grad | "
      "weight_grad | all | SCNN-like over dense | ANT over dense |\n|---|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|");
  std::vector<std::pair<RunResult, RunResult>> runs;
  for (const std::string& path : paths) {
    const Trace trace = Trace::open(path);
    runs.emplace_back(run(trace, "scnn", {}), run(trace, "ant", {}));
    print_main_row(trace.info().model, runs.back().first, runs.back().second);
  }
  fmt::print(
      "\n| slots of | useful | residual RCPs (SCNN-like: all) | fragmentation | bubbles | conflicts | fill | "
      "imbalance | PEs without work |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [scnn, ant] : runs) {
    print_causes(scnn.info.model, scnn);
    print_causes(ant.info.model, ant);
  }
  if (!vary) return 0;
  fmt::print("\n| variant |");
  for (const auto& [scnn, ant] : runs) fmt::print(" {} | RCPs removed |", scnn.info.model);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < runs.size(); ++i) fmt::print("---|---|");
  fmt::print("\n");
  for (const Variant& variant : variants()) {
    fmt::print("| {} |", variant.name);
    for (const std::string& path : paths) {
      const Trace trace = Trace::open(path);
      Settings ant_settings = variant.both;
      ant_settings.insert(ant_settings.end(), variant.ant_only.begin(), variant.ant_only.end());
      const RunResult scnn = run(trace, "scnn", variant.both);
      const RunResult ant = run(trace, "ant", ant_settings);
      fmt::print(" {:.2f} | {:.1f} % |", cycles(scnn) / cycles(ant),
                 percent(sum(ant, "rcps_anticipated"), sum(ant, "rcps")));
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
  return 0;
}

}  // namespace
}  // namespace lacuna

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  bool vary = false;
  if (!paths.empty() && paths[0] == "--vary") {
    vary = true;
    paths.erase(paths.begin());
  }
  return lacuna::study(paths, vary);
}
