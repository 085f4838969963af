// Results of the SCNN-like machine and of ANT on traces, as Markdown: speedups by network and operation,
// redundant products removed, where the time goes, and the switches of docs/models/ant.md one at a time.
//   outer_product_study [KEY=VALUE...] TRACE...   the main tables, with parameters for both machines
//   outer_product_study --vary TRACE...           the switches one at a time
//   outer_product_study --shuffle TRACE...        recorded zeros against zeros moved about
//   outer_product_study --energy [TRACE...]       ANT's energy over SCNN-like's, of traces or of those
//   networks outer_product_study --networks                the networks of ANT's talk with uniformly random
//   zeros
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "reproduce/networks.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "trace/synthetic/synthetic.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

using testing::Settings;

RunResult run(const Trace& trace, const std::string& arch, const Settings& settings) {
  return simulate_trace(trace, *testing::make_machine(arch, settings), arch, {}, 1);
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

// PE-cycles of pairs and their fill: the time if no PE ever waited.
double busy(const RunResult& run) {
  return sum(run, "steps") + sum(run, "bubbles") + sum(run, "conflict_stalls") + sum(run, "fill_cycles");
}

int study(const std::vector<std::string>& paths, const Settings& settings) {
  fmt::print(
      "| trace | forward | input_grad | weight_grad | all | RCP share | removed: forward | input_grad | "
      "weight_grad | all | SCNN-like over dense | ANT over dense |\n|---|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|");
  std::vector<std::pair<RunResult, RunResult>> runs;
  for (const std::string& path : paths) {
    const Trace trace = Trace::open(path);
    runs.emplace_back(run(trace, "scnn", settings), run(trace, "ant", settings));
    print_main_row(trace.info().model, runs.back().first, runs.back().second);
  }
  fmt::print(
      "\n| slots of | useful | residual RCPs (SCNN-like: all) | fragmentation | bubbles | conflicts | fill | "
      "imbalance | PEs without work |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [scnn, ant] : runs) {
    print_causes(scnn.info.model, scnn);
    print_causes(ant.info.model, ant);
  }
  return 0;
}

int study_switches(const std::vector<std::string>& paths) {
  std::vector<Trace> traces;
  traces.reserve(paths.size());
  for (const std::string& path : paths) traces.push_back(Trace::open(path));
  fmt::print("| variant |");
  for (const Trace& trace : traces) fmt::print(" {} | PEs never wait | RCPs removed |", trace.info().model);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < traces.size(); ++i) fmt::print("---|---|---|");
  fmt::print("\n");
  for (const Variant& variant : variants()) {
    fmt::print("| {} |", variant.name);
    for (const Trace& trace : traces) {
      Settings ant_settings = variant.both;
      ant_settings.insert(ant_settings.end(), variant.ant_only.begin(), variant.ant_only.end());
      const RunResult scnn = run(trace, "scnn", variant.both);
      const RunResult ant = run(trace, "ant", ant_settings);
      fmt::print(" {:.2f} | {:.2f} | {:.1f} % |", cycles(scnn) / cycles(ant), busy(scnn) / busy(ant),
                 percent(sum(ant, "rcps_anticipated"), sum(ant, "rcps")));
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
  return 0;
}

// The tensor's non-zeros moved about: inside each plane (every channel keeps its number), or anywhere.
std::vector<bool> moved(const LayerTensor& tensor, std::int64_t plane, bool inside_planes, Random& random) {
  const MaskView& mask = tensor.mask;
  std::vector<bool> bits(static_cast<std::size_t>(tensor.elements()));
  const auto at = [&](std::int64_t row, std::int64_t channel) {
    return bits[static_cast<std::size_t>(row * mask.channels + channel)];
  };
  for (std::int64_t r = 0; r < mask.rows; ++r) {
    for (std::int64_t c = 0; c < mask.channels; ++c) at(r, c) = mask.bit(r, c);
  }
  const auto swap = [&](std::int64_t r, std::int64_t c, std::int64_t r2, std::int64_t c2) {
    const bool kept = at(r, c);
    at(r, c) = at(r2, c2);
    at(r2, c2) = kept;
  };
  if (!inside_planes) {
    for (std::int64_t i = tensor.elements() - 1; i > 0; --i) {
      const std::int64_t j = random.integer(0, i);
      swap(i / mask.channels, i % mask.channels, j / mask.channels, j % mask.channels);
    }
    return bits;
  }
  for (std::int64_t first = 0; first < mask.rows; first += plane) {
    for (std::int64_t c = 0; c < mask.channels; ++c) {
      for (std::int64_t i = plane - 1; i > 0; --i) swap(first + i, c, first + random.integer(0, i), c);
    }
  }
  return bits;
}

Trace shuffled(const Trace& trace, bool inside_planes) {
  Random random(1);
  TraceBuilder builder(trace.path());
  for (const Layer& layer : trace.layers()) {
    const LayerShape& s = layer.shape;
    builder.add_layer(layer.name, s, layer.steps)
        .mask(Operand::kA, moved(layer.a, s.input_positions(), inside_planes, random))
        .mask(Operand::kG, moved(layer.g, s.output_positions(), inside_planes, random))
        .mask(Operand::kW, moved(layer.w, s.taps(), inside_planes, random));
  }
  return builder.build();
}

int study_shuffled(const std::vector<std::string>& paths) {
  fmt::print(
      "| trace | zeros | speedup | PEs never wait | weight_grad | RCPs removed "
      "|\n|---|---|---|---|---|---|\n");
  for (const std::string& path : paths) {
    const Trace recorded = Trace::open(path);
    const std::pair<const char*, Trace> cases[] = {
        {"recorded", recorded},
        {"moved inside planes", shuffled(recorded, true)},
        {"moved anywhere in the tensor", shuffled(recorded, false)}};
    for (const auto& [name, trace] : cases) {
      const RunResult scnn = run(trace, "scnn", {}), ant = run(trace, "ant", {});
      const Operation weight_grad = Operation::kWeightGrad;
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} % |\n", recorded.info().model, name,
                 cycles(scnn) / cycles(ant), busy(scnn) / busy(ant),
                 cycles(scnn, &weight_grad) / cycles(ant, &weight_grad),
                 percent(sum(ant, "rcps_anticipated"), sum(ant, "rcps")));
    }
  }
  return 0;
}

struct StudyNetwork {
  std::string network;
  int image_size;
  std::string name() const { return fmt::format("{}, {} x {}", network, image_size, image_size); }
};

// The networks of ANT's talk; `lacuna reproduce ant` shows the paper's numbers next to ours.
std::vector<StudyNetwork> study_networks() {
  return {{"densenet121", 32}, {"resnet18", 32}, {"resnet18", 224},
          {"vgg16", 32},       {"wrn16_8", 32},  {"resnet50", 224}};
}

Trace network_trace(const StudyNetwork& network, double zeros) {
  SyntheticSpec spec;
  spec.name = network.name();
  spec.batch = 64;  // weights move once per batch
  for (const LayerShape& shape : reproduce::network_layers(network.network, network.image_size)) {
    spec.layers.push_back({fmt::format("layer{}", spec.layers.size()), shape, 1, ZeroSpec::uniform(zeros),
                           ZeroSpec::uniform(zeros), ZeroSpec::uniform(zeros)});
  }
  return make_synthetic(spec);
}

int study_uniform() {
  fmt::print(
      "| network, uniform 90 % zeros | fill 5 per pair, PEs never wait | fill 2 / 5 per operation, PEs never "
      "wait | default | default, weight_grad alone | conflicts | RCPs removed |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const StudyNetwork& network : study_networks()) {
    const Trace trace = network_trace(network, 0.9);
    const Settings fill_5{{"fill_scope", "pair"}, {"fill", "5"}};
    const Settings conflicts{{"conflicts", "on"}};
    const RunResult scnn = run(trace, "scnn", {}), ant = run(trace, "ant", {});
    const Operation weight_grad = Operation::kWeightGrad;
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} % |\n", network.name(),
               busy(run(trace, "scnn", fill_5)) / busy(run(trace, "ant", fill_5)), busy(scnn) / busy(ant),
               cycles(scnn) / cycles(ant), cycles(scnn, &weight_grad) / cycles(ant, &weight_grad),
               cycles(run(trace, "scnn", conflicts)) / cycles(run(trace, "ant", conflicts)),
               percent(sum(ant, "rcps_anticipated"), sum(ant, "rcps")));
    std::fflush(stdout);
  }
  return 0;
}

// ANT's energy over SCNN-like's with logic that is clocked all the time and with logic that is gated, and
// what it would be without the PEs that wait.
void print_energy_row(const std::string& name, const Trace& trace) {
  const auto of = [&](const char* arch, const char* idle) {
    const RunResult result = run(trace, arch, {{"idle_logic", idle}});
    return run_energy(result, energy_table("", 0, *result.hardware));
  };
  const RunResult scnn = run(trace, "scnn", {}), ant = run(trace, "ant", {});
  fmt::print("| {} |", name);
  for (const char* idle : {"clocked", "gated"}) {
    const RunEnergy a = of("scnn", idle), b = of("ant", idle);
    fmt::print(" {:.3f} |", b.all.machine.total() / a.all.machine.total());
    for (const Operation op : kOperations)
      fmt::print(" {:.3f} |", b.by_operation[op].machine.total() / a.by_operation[op].machine.total());
  }
  fmt::print(" {:.3f} | {:.3f} | {:.3f} |\n", cycles(ant) / cycles(scnn), busy(ant) / busy(scnn),
             sum(ant, "executed_products") / sum(scnn, "executed_products"));
  std::fflush(stdout);
}

int study_energy(const std::vector<std::string>& paths) {
  fmt::print(
      "| ANT / SCNN-like | energy, clocked | forward | input_grad | weight_grad | energy, gated | "
      "forward | input_grad | weight_grad | cycles | cycles, PEs never wait | products "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& path : paths) {
    const Trace trace = Trace::open(path);
    print_energy_row(trace.info().model, trace);
  }
  if (!paths.empty()) return 0;
  for (const StudyNetwork& network : study_networks())
    print_energy_row(network.name(), network_trace(network, 0.9));
  return 0;
}

}  // namespace
}  // namespace lacuna

int main(int argc, char** argv) {
  using namespace lacuna;
  std::vector<std::string> paths;
  Settings settings;
  std::string mode;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (argument.starts_with("--")) {
      mode = argument;
    } else if (argument.find('=') != std::string::npos) {
      settings.push_back(split_assignment(argument, "argument"));
    } else {
      paths.push_back(argument);
    }
  }
  if (mode == "--networks") return study_uniform();
  if (mode == "--energy") return study_energy(paths);
  if (mode == "--vary") return study_switches(paths);
  if (mode == "--shuffle") return study_shuffled(paths);
  return study(paths, settings);
}
