// The main job on what is built in: two recorded training steps on the dense machine and on TensorDash.
#include <cmath>

#include "base/embedded_file.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/progress_bar.hpp"
#include "cli/terminal.hpp"
#include "report/result_tables.hpp"
#include "sim/arch_catalog.hpp"
#include "sim/potential.hpp"
#include "sim/simulate.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_traces();  // cmake/LacunaEmbed.cmake

namespace cli {
namespace {

// A trace, what could be skipped in it, and what TensorDash skips.
struct DemoRun {
  TraceInfo info;
  std::size_t layers = 0;
  double zeros_a = 0, zeros_w = 0, zeros_g = 0;
  PotentialTotals potential;
  Totals totals;
  std::int64_t batch = 1;
};

DemoRun run_one(const EmbeddedFile& file, const Machine& machine, ProgressBar& bar) {
  const Trace trace = Trace::parse(std::string(file.name), {file.bytes.begin(), file.bytes.end()});
  const TracePotential potential = trace_potential(trace, SchedulePolicy::kSparser);
  const RunResult run = simulate_trace(trace, *machine.build(), machine.name, {}, resolve_threads(0),
                                       [&](double share) { bar.update(share, trace.info().model); });
  return {trace.info(),
          trace.layers().size(),
          potential.zero_share(TensorRole::kA),
          potential.zero_share(TensorRole::kW),
          potential.zero_share(TensorRole::kG),
          potential.per_batch,
          run.per_batch(),
          run.batch};
}

std::string table(const DemoRun& run, const TextStyle& style) {
  TextTable text({{"operation", Align::kLeft},
                  {"GMACs", Align::kRight, "work"},
                  {"on zeros", Align::kRight, "work"},
                  {"at best", Align::kRight, "work"},
                  {"dense", Align::kRight, "cycles"},
                  {"TensorDash", Align::kRight, "cycles"},
                  {"speedup", Align::kRight, "TensorDash"},
                  {"no padding", Align::kRight, "TensorDash"}});
  const auto row = [&](std::string name, const Potential& work, const CyclePair& cycles) {
    text.add_row({std::move(name), fmt::format("{:.2f}", work.macs / 1e9),
                  fmt::format("{:.0f} %", 100 * (1 - work.remaining / work.macs)),
                  ratio_text(work.macs, work.remaining), rounded_digits(cycles.dense_cycles),
                  rounded_digits(cycles.cycles), ratio_text(cycles.dense_cycles, cycles.cycles),
                  ratio_text(cycles.dense_cycles, cycles.padding_free_cycles)});
  };
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    row(std::string(operation_name(kOperations[i])), run.potential.ops[i], run.totals.of(kOperations[i]));
  }
  text.add_rule();
  row("all", run.potential.all, run.totals.all);
  return text.render(style);
}

void run_demo() {
  const TextStyle style = output_style();
  const Machine machine = ArchCatalog().find("tensordash", "demo");
  std::vector<DemoRun> runs;
  {
    ProgressBar bar;
    for (const EmbeddedFile& file : embedded_traces()) runs.push_back(run_one(file, machine, bar));
  }
  const Params& params = machine.params;
  print("{}\n\n",
        bold_text(
            "How much of the training of these networks is spent on zeros, and what does skipping them give?",
            style));
  print(
      "Simulated, cycle by cycle: one training step of each network, from zeros that were recorded while it "
      "trained\n"
      "(PyTorch, 224x224 images; built in). Two machines: dense, which multiplies everything, and "
      "TensorDash, the same\n"
      "chip with a scheduler that fills the place of zeros with later work. {} tiles of {}x{} PEs of {} MACs "
      "each.\n",
      params.integer("tiles"), params.integer("rows"), params.integer("columns"), params.integer("lanes"));
  for (const DemoRun& run : runs) {
    print("\n{}\n", bold_text(fmt::format("{} ({} layers, a batch of {})", trace_title(run.info), run.layers,
                                          run.batch),
                              style));
    print("zeros, weighted by work: {:.0f} % of activations, {:.0f} % of weights, {:.0f} % of gradients\n",
          100 * run.zeros_a, 100 * run.zeros_w, 100 * run.zeros_g);
    print_text(table(run, style));
  }
  print(
      "\nforward: outputs; input_grad, weight_grad: the two products of back-propagation. 'on zeros': work "
      "whose sparser\n"
      "operand is zero; 'at best': the speedup if all of it took no time. 'no padding': the speedup without "
      "what comes\n"
      "from lanes that hold no channel at all, such as 13 of 16 in a first layer with three channels.\n\n");
  for (const DemoRun& run : runs) {
    print("{}: of {}x at best, TensorDash makes {}x.\n", printable(run.info.model),
          ratio_text(run.potential.all.macs, run.potential.all.remaining),
          ratio_text(run.totals.all.dense_cycles, run.totals.all.cycles));
  }
  print("\nNext: lacuna arch list; lacuna simulate YOUR_TRACE --layers; lacuna simulate --help\n");
}

}  // namespace

void add_demo_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("demo", "The main job on what is built in: two networks, dense against TensorDash");
  add_examples(*command, {{"lacuna demo", "no data needed; under a second"}});
  command->callback(run_demo);
}

}  // namespace cli
}  // namespace lacuna
