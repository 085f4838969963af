#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/parallel.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/result/dram_trace.hpp"
#include "report/result/potential_report.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"
#include "report/result/roofline.hpp"
#include "report/result/simulation_text.hpp"
#include "report/result/timeline.hpp"
#include "sim/catalog/arch_catalog.hpp"
#include "sim/catalog/choose_machines.hpp"
#include "sim/simulation.hpp"

namespace lacuna::cli {
namespace {

struct SimulateOptions {
  std::vector<std::string> traces;
  MachineChoice machines;
  ZerosChoice zeros;
  Engine engine = Engine::kFast;
  int threads = 0;
  std::uint64_t seed = 1;
  PerOperation<bool> operations{true, true, true};
  bool layers = false;
  bool energy = false;
  CostChoice costs;
  ResultFiles files;
  std::string timeline;
  std::string dram_trace;
  DramTraceFormat dram_trace_format = DramTraceFormat::kRamulator2;
  std::uint64_t dram_trace_requests = 1'000'000;
  bool roofline = false;
  bool mapping = false;
  CsvBasis csv_per = CsvBasis::kBatch;
  std::optional<RankBy> rank;

  // Ranks other than speedup need costs.
  bool with_energy() const { return energy || rank == RankBy::kEnergy || rank == RankBy::kArea; }
};

constexpr std::string_view basis_name(CsvBasis basis) {
  return basis == CsvBasis::kBatch ? "batch" : "recorded";
}

PerOperation<bool> parse_operations(const std::vector<std::string>& names) {
  PerOperation<bool> chosen{};
  for (const std::string& name : names)
    chosen[parse_word("--operations", "word", name, kOperations, operation_name)] = true;
  return chosen;
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

// Every trace on every machine, one trace in memory at a time. The page also shows where the zeros are.
SimulationOutcome simulate_all(const SimulateOptions& options, const Simulation& simulation,
                               std::vector<Inspection>& inspections) {
  const SimOptions sim{.engine = options.engine,
                       .seed = options.seed,
                       .actions_without_zeros = options.with_energy(),
                       .operations = options.operations,
                       .units = !options.timeline.empty()};
  const int threads = resolve_threads(options.threads);
  const std::optional<ZerosTable> zeros = options.zeros.open();
  std::vector<double> bytes;
  for (const std::string& path : options.traces) bytes.push_back(trace_bytes(path));
  const double all_bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  SimulationOutcome outcome;
  ProgressBar bar(ProgressBar::Drawn::kAlways);
  double done = 0;
  for (std::size_t i = 0; i < options.traces.size(); ++i) {
    bar.update(done, std::filesystem::path(options.traces[i]).filename().string());
    Trace trace = Trace::open(options.traces[i]);
    if (zeros) trace = zeros->draw(trace, options.zeros.clusters(), options.seed);
    const double part = bytes[i] / all_bytes;
    if (!options.files.html.empty()) {
      inspections.push_back({options.traces[i], trace.info(), trace.batch(), trace_potential(trace)});
    }
    outcome.append(simulation.run(
        trace, sim, threads, [&](double share) { bar.update(done + share * part, trace.info().model); }));
    done += part;
  }
  return outcome;
}

void check_options(const SimulateOptions& options) {
  if (options.rank && options.layers)
    throw InputError("--layers", "a ranking has no layers", "leave out --layers or --rank");
  if (!options.with_energy() && (!options.costs.table.empty() || options.costs.node_nm != 0)) {
    throw InputError(options.costs.node_nm != 0 ? "--node" : "--energy-table",
                     "this option only applies to energy", "add --energy");
  }
  std::set<std::string> seen;
  for (const std::string& trace : options.traces) {
    if (!seen.insert(trace).second) throw InputError(trace, "the trace is given twice", "name each one once");
  }
  options.files.check(options.traces);
  if (options.timeline.empty()) return;
  const auto& [json, csv, html] = options.files;
  for (const std::string& other : {json, csv, html}) {
    if (other == options.timeline)
      throw InputError("--timeline", "another result goes to the same file", "give each its own file");
  }
  check_can_write(options.timeline, "--timeline", options.traces);
}

// A folder of traces holds one run's: throws InputError for several, and for a folder that cannot be written.
void check_dram_trace(const SimulateOptions& options, std::size_t machines) {
  if (options.dram_trace.empty()) return;
  if (options.traces.size() > 1 || machines > 1)
    throw InputError("--dram-trace", "a folder holds the requests of one trace on one machine",
                     "name one trace and one machine");
  std::error_code error;
  std::filesystem::create_directories(options.dram_trace, error);
  check_can_write((std::filesystem::path(options.dram_trace) / "operations.csv").string(), "--dram-trace",
                  options.traces);
}

void write_dram_trace(const SimulateOptions& options, const Machine& machine, const RunResult& run) {
  const std::filesystem::path folder(options.dram_trace);
  write_dram_traces(run, machine.params, options.dram_trace_format,
                    static_cast<std::int64_t>(options.dram_trace_requests), [&](const DramTraceFile& file) {
                      write_file(folder / file.name, file.text, OutputFile::Links::kRefuse);
                    });
}

void run_simulate(const SimulateOptions& options) {
  check_options(options);
  const std::vector<Machine> machines = choose_machines(options.machines, {});
  const std::optional<Machine> baseline = choose_baseline(options.machines, {}, machines);
  check_dram_trace(options, machines.size());
  Simulation simulation(machines, baseline);
  if (options.with_energy()) simulation.price(options.costs, "--energy-table");
  std::vector<std::string> inputs = options.traces;
  inputs.push_back(options.zeros.file);
  options.files.check(inputs);  // descriptions of machines and costs have been read
  std::vector<Inspection> inspections;
  const SimulationOutcome outcome = simulate_all(options, simulation, inspections);
  const auto& [json, csv, html] = options.files;
  if (!json.empty()) write_result(json, results_to_json(outcome, options.layers));
  if (!csv.empty()) write_result(csv, results_to_csv(outcome, options.csv_per));
  if (!html.empty()) {
    write_html(html, "simulate",
               {{"simulate", results_to_json(outcome, true)},
                {"inspect", inspections_to_json(inspections)},
                {"files", files_part(options.traces)}});
  }
  if (!options.timeline.empty()) write_result(options.timeline, timeline_json(outcome.runs));
  if (!options.dram_trace.empty()) write_dram_trace(options, machines.front(), outcome.runs.front());
  if (options.files.quiet() || options.timeline == kStandardOutput) return;
  const std::string notes = simulation_notes(machines, simulation, options.engine, outcome);
  print_text(simulation_text(outcome, notes, options.layers, options.rank, output_style()));
  if (options.roofline) print_text(roofline_tables(outcome.runs, output_style()));
  if (options.mapping) print_text(mapping_tables(outcome.runs, output_style()));
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  const auto [command, options] = add_command<SimulateOptions>(
      app, "simulate", "Cycles of recorded training steps on accelerators", run_simulate);
  add_trace_argument(command, options.traces);
  add_list(command, "--arch", options.machines.names, "NAME",
           fmt::format("Machines, separated by commas ('lacuna arch list'); {} if not given",
                       ArchCatalog().default_name()))
      ->allow_extra_args(false);
  add_machine_options(command, options.machines);
  add_baseline_option(command, options.machines.baseline);
  add_word(command, "--engine", options.engine, "fast|functional", "engine",
           std::array{Engine::kFast, Engine::kFunctional}, engine_name,
           "fast: on bit masks; functional: moves values and checks them against a reference "
           "convolution (default: fast)");
  command
      .add_option_function<std::vector<std::string>>(
          "--operations",
          [&operations = options.operations](const std::vector<std::string>& names) {
            operations = parse_operations(names);
          },
          "Operations to run, separated by commas; forward alone is inference (default: all three)")
      ->type_name("forward,input_grad,weight_grad")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_threads_option(command, options.threads, "Results do not depend on it");
  add_zeros_options(command, options.zeros, "every trace");
  add_seed_option(command, options.seed,
                  "Seed of the values that the functional engine draws for masks, and of --zeros-file");
  command.add_flag("--layers", options.layers, "Also show one row per layer and operation");
  command.add_flag("--roofline", options.roofline,
                   "Also show how near each operation comes to the limits of multipliers and DRAM");
  command.add_flag("--mapping", options.mapping,
                   "Also show how each operation is laid on the machine: operands, grid, order");
  command.add_flag("--energy", options.energy, "Also show energy by component, area and power");
  add_cost_options(command, options.costs.table, options.costs.node_nm);
  add_word(command, "--rank", options.rank, "time|zeros|energy|area", "word", kRankBy, rank_name,
           "One table for all machines, the best first; energy and area need no --energy");
  add_result_options(command, options.files);
  add_html_option(command, options.files.html);
  add(command, "--timeline", options.timeline, "FILE",
      "Write the machines at work as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing")
      ->check(not_empty());
  add(command, "--dram-trace", options.dram_trace, "FOLDER",
      "Write the requests to DRAM, one file per operation, and operations.csv with the time we give them")
      ->check(not_empty());
  add_word(command, "--dram-trace-format", options.dram_trace_format, "ramulator2|dramsim3", "format",
           kDramTraceFormats, dram_trace_format_name, "Simulator that is to read them (default: ramulator2)");
  add_number(command, "--dram-trace-requests", options.dram_trace_requests, 1, 1'000'000'000,
             "Most requests of a file; longer operations are cut (default: 1,000,000)");
  add_word(command, "--csv-per", options.csv_per, "batch|recorded", "word",
           std::array{CsvBasis::kBatch, CsvBasis::kRecorded}, basis_name,
           "Scale of the CSV's counts, cycles and joules: the whole batch, or the samples recorded "
           "(default: batch)");
  add_examples(
      command,
      {{"lacuna simulate resnet50.safetensors.zst", "one training step on TensorDash"},
       {"lacuna simulate *.zst --arch dense,tensordash --layers",
        "two machines side by side, layer by layer"},
       {"lacuna simulate a.zst --zeros-file zeros.csv --clustering measured",
        "the network with zeros of another training, clustered as in the trace"},
       {"lacuna simulate a.zst --energy --set memory=modelled",
        "energy, and time with DRAM, SRAM and transposers"},
       {"lacuna simulate a.zst --energy --arch dense,tensordash,scnn-4096,ant-4096",
        "energy of four machines of 4,096 multipliers"},
       {"lacuna simulate a.zst --rank energy --arch dense,tensordash,sparten,ant-4096",
        "one table, the machine that needs least energy first"},
       {"lacuna simulate a.zst --arch tensordash,sparten --baseline dense --set tensordash.rows=8",
        "two designs against one dense machine"},
       {"lacuna simulate a.zst --operations forward --set storage=scheduled",
        "inference, from tensors stored in scheduled form"},
       {"lacuna simulate a.zst --set rows=8 --set tiles=1", "one tile with eight rows"},
       {"lacuna simulate a.zst --set memory=modelled --roofline",
        "utilisation and achieved bandwidth of every operation"},
       {"lacuna simulate a.zst --timeline a.json", "tiles, memories and DRAM over time, in Perfetto"},
       {"lacuna simulate a.zst --dram-trace requests --dram-trace-format dramsim3",
        "its requests to DRAM, for DRAMsim3"},
       {"lacuna simulate a.zst --energy --html report.html", "a page to send to a colleague"},
       {"lacuna simulate a.zst --json - | jq .runs[0].total", "for programs"}});
}

}  // namespace lacuna::cli
