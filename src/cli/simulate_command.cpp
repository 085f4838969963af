#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_bar.hpp"
#include "cli/terminal.hpp"
#include "report/arch_report.hpp"
#include "report/design_difference.hpp"
#include "report/energy_report.hpp"
#include "report/result_csv.hpp"
#include "report/result_json.hpp"
#include "report/result_tables.hpp"
#include "sim/arch_catalog.hpp"
#include "sim/simulate.hpp"

namespace lacuna::cli {
namespace {

struct SimulateOptions {
  std::vector<std::string> traces;
  std::vector<std::string> archs;
  std::vector<std::string> configs;
  std::vector<std::string> settings;
  std::string engine = "fast";
  int threads = 0;
  std::uint64_t seed = 1;
  bool layers = false;
  bool energy = false;
  std::string energy_table;
  int node = 0;
  std::string json;
  std::string csv;
};

Engine parse_engine(const std::string& name) {
  if (name == "fast") return Engine::kFast;
  if (name == "functional") return Engine::kFunctional;
  throw InputError("--engine", fmt::format("unknown engine '{}'", name),
                   suggest(name, {"fast", "functional"}));
}

// Results are identified by the names of machines, so no two may be the same.
void add_machine(std::vector<Machine>& machines, Machine machine, const std::string& alternative) {
  const auto taken = [&] {
    return std::ranges::find(machines, machine.name, &Machine::name) != machines.end();
  };
  if (taken() && !alternative.empty()) machine.name += ":" + alternative;
  if (taken()) {
    throw InputError(alternative.empty() ? "--arch" : "--config",
                     fmt::format("two machines are called '{}'", machine.name),
                     alternative.empty() ? "name each one once" : "give each file a line 'name: NAME'");
  }
  machines.push_back(std::move(machine));
}

std::vector<Machine> choose_machines(const SimulateOptions& options) {
  const ArchCatalog catalog;
  std::vector<std::string> names = options.archs;
  if (names.empty() && options.configs.empty()) names = {catalog.default_name()};
  std::vector<Machine> machines;
  for (const std::string& name : names) add_machine(machines, catalog.find(name, "--arch"), "");
  for (const std::string& file : options.configs) {
    add_machine(machines, catalog.load(file), std::filesystem::path(file).stem().string());
  }
  for (const std::string& setting : options.settings) apply_setting(machines, setting, "--set " + setting);
  return machines;
}

// Bytes of a trace (a file or a folder): its part of the whole, for the progress bar.
double trace_bytes(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw InputError(path, "there is no such file", "check the name");
  }
  const auto bytes =
      std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 1;
  return error ? 1.0 : static_cast<double>(std::max<std::uintmax_t>(bytes, 1));
}

// Every trace on every machine, one trace in memory at a time.
std::vector<RunResult> simulate_all(const SimulateOptions& options, const Simulator& simulator) {
  const SimOptions sim{.engine = parse_engine(options.engine), .seed = options.seed};
  const int threads = resolve_threads(options.threads);
  std::vector<double> bytes;
  double all_bytes = 0;
  for (const std::string& path : options.traces) {
    bytes.push_back(trace_bytes(path));
    all_bytes += bytes.back();
  }
  std::vector<RunResult> runs;
  ProgressBar bar;
  double done = 0;
  for (std::size_t i = 0; i < options.traces.size(); ++i) {
    const Trace trace = Trace::open(options.traces[i]);
    const double part = bytes[i] / all_bytes;
    for (RunResult& run : simulator.run(trace, sim, threads, [&](double share) {
           bar.update(done + share * part, trace.info().model);
         })) {
      runs.push_back(std::move(run));
    }
    done += part;
  }
  return runs;
}

// The cost table of each machine; nothing where the machine or its baseline declares no hardware. A table
// that does not fit is reported before a long simulation, not after it.
std::vector<std::optional<CostTable>> choose_tables(const SimulateOptions& options,
                                                    const Simulator& simulator) {
  std::vector<std::optional<CostTable>> tables(simulator.size());
  if (!options.energy) return tables;
  if (!options.energy_table.empty()) {
    check_cost_names(CostTable::open(options.energy_table, "--energy-table"), ArchCatalog().all_hardware());
  }
  for (std::size_t i = 0; i < simulator.size(); ++i) {
    const auto hardware = simulator.machine(i).hardware();
    const auto baseline = simulator.baseline(i).hardware();
    if (!hardware || !baseline) continue;
    tables[i] = energy_table(options.energy_table, options.node, *hardware);
    check_energy_costs(*tables[i], *hardware, simulator.arch(i));
    check_energy_costs(*tables[i], *baseline, simulator.baseline(i).params().owner());
  }
  return tables;
}

// The energy of each run; without layers where its machine declares no hardware.
std::vector<RunEnergy> all_energies(const std::vector<RunResult>& runs,
                                    const std::vector<std::optional<CostTable>>& tables) {
  std::vector<RunEnergy> energies;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<CostTable>& table = tables[i % tables.size()];
    energies.push_back(table ? run_energy(runs[i], *table) : RunEnergy{});
  }
  return energies;
}

void check_options(const SimulateOptions& options) {
  parse_engine(options.engine);
  if (!options.energy && (!options.energy_table.empty() || options.node != 0)) {
    throw InputError(options.node != 0 ? "--node" : "--energy-table", "this option only applies to energy",
                     "add --energy");
  }
  for (std::size_t i = 0; i < options.traces.size(); ++i) {
    if (std::find(options.traces.begin(), options.traces.begin() + static_cast<std::ptrdiff_t>(i),
                  options.traces[i]) != options.traces.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw InputError(options.traces[i], "the trace is given twice", "name each one once");
    }
  }
  check_result_files(options.json, options.csv, options.traces);
}

void run_simulate(const SimulateOptions& options) {
  check_options(options);
  const std::vector<Machine> machines = choose_machines(options);
  Simulator simulator;
  for (const Machine& machine : machines) simulator.add(machine.name, machine.build());
  const auto tables = choose_tables(options, simulator);
  const std::vector<RunResult> runs = simulate_all(options, simulator);
  const std::vector<RunEnergy> energies =
      options.energy ? all_energies(runs, tables) : std::vector<RunEnergy>();
  if (!options.json.empty()) {
    write_result(options.json, results_to_json(runs, {options.energy ? &energies : nullptr, options.layers}));
  }
  if (!options.csv.empty()) write_result(options.csv, results_to_csv(runs, energies));
  if (options.json == kStandardOutput || options.csv == kStandardOutput) return;
  std::string changes;
  for (const Machine& machine : machines) {
    const std::string changed = changed_parameters(machine.params);
    if (!changed.empty()) changes += fmt::format("{}: {}\n", machine.name, changed);
  }
  for (std::size_t i = 0; options.engine == "fast" && i < simulator.size(); ++i) {
    const std::string reason = simulator.machine(i).slow_engine_reason();
    if (!reason.empty()) changes += fmt::format("{}: {}\n", simulator.arch(i), reason);
  }
  changes += design_differences(runs);
  if (!changes.empty()) print("{}\n", changes);
  print_text(result_tables(runs, options.layers, output_style()));
  if (options.energy) print_text(energy_tables(runs, energies, options.layers, output_style()));
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("simulate", "Cycles of recorded training steps on accelerators");
  const auto options = std::make_shared<SimulateOptions>();
  add_trace_argument(*command, options->traces);
  command
      ->add_option("--arch", options->archs,
                   fmt::format("Machines, separated by commas ('lacuna arch list'); {} if not given",
                               ArchCatalog().default_name()))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command
      ->add_option("--config", options->configs,
                   "A machine described in YAML: 'arch: NAME' and its parameters")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command
      ->add_option(
          "--set", options->settings,
          "Change a parameter of every machine that has it; NAME.key=value of one ('lacuna arch show NAME')")
      ->allow_extra_args(false)
      ->type_name("key=value");
  command
      ->add_option("--engine", options->engine,
                   "fast: on bit masks; functional: moves values and checks them against a reference "
                   "convolution (default: fast)")
      ->type_name("fast|functional");
  command
      ->add_option("--threads", options->threads, "Threads (default: all cores). Results do not depend on it")
      ->check(CLI::Range(0, 4096).description(""))
      ->type_name("N");
  command
      ->add_option("--seed", options->seed,
                   "Seed of the values that the functional engine draws for masks (default: 1)")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N");
  command->add_flag("--layers", options->layers, "Also show one row per layer and operation");
  command->add_flag("--energy", options->energy, "Also show energy by component");
  add_cost_options(*command, options->energy_table, options->node);
  add_result_options(*command, options->json, options->csv);
  add_examples(*command, {{"lacuna simulate resnet50.safetensors.zst", "one training step on TensorDash"},
                          {"lacuna simulate *.zst --arch dense,tensordash --layers",
                           "two machines side by side, layer by layer"},
                          {"lacuna simulate a.zst --energy --set memory=modelled",
                           "energy, and time with DRAM, SRAM and transposers"},
                          {"lacuna simulate a.zst --energy --arch dense,tensordash,scnn-4096,ant-4096",
                           "energy of four machines of 4,096 multipliers"},
                          {"lacuna simulate a.zst --set rows=8 --set tiles=1", "one tile with eight rows"},
                          {"lacuna simulate a.zst --json - | jq .runs[0].total", "for programs"}});
  command->callback([options] { run_simulate(*options); });
}

}  // namespace lacuna::cli
