#include "cli/inspect_storage.hpp"

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/parallel.hpp"
#include "cli/output.hpp"
#include "cli/terminal.hpp"
#include "report/storage_report.hpp"
#include "sim/arch_catalog.hpp"
#include "sim/simulate.hpp"

namespace lacuna::cli {
namespace {

DataType parse_values(const std::string& name) {
  if (name == "fp32") return DataType::kFp32;
  if (name == "bfloat16") return DataType::kBfloat16;
  throw InputError("--values", fmt::format("unknown type '{}'", name), suggest(name, {"fp32", "bfloat16"}));
}

Machine tensordash_machine(const StorageOptions& options) {
  std::vector<Machine> machines{ArchCatalog().find("tensordash", "inspect")};
  for (const std::string& setting : options.settings) apply_setting(machines, setting, "--set " + setting);
  return machines.front();
}

void write_text(const std::string& json, const std::string& json_text, const std::string& csv,
                const std::string& csv_text) {
  if (!json.empty()) write_result(json, json_text);
  if (!csv.empty()) write_result(csv, csv_text);
}

void show_storage(const StorageOptions& options, const std::vector<std::string>& traces, bool summary,
                  const std::string& json, const std::string& csv, const Machine& machine) {
  const tensordash::Config config = tensordash::Config::from(machine.params);
  const tensordash::StorageParams params{
      .grouping = tensordash::parse_grouping(options.grouping, "--grouping"),
      .pointer_bits = options.pointer_bits,
      .run_bits = options.run_bits};
  std::vector<tensordash::TraceStorageReport> reports;
  for (const std::string& path : traces) {
    const Trace trace = Trace::open(path);  // one in memory at a time
    with_threads(resolve_threads(0), [&] {
      reports.push_back(tensordash::trace_storage(trace, config.scheduler.connectivity(), params));
    });
  }
  write_text(json, storage_to_json(reports), csv, storage_to_csv(reports));
  if (json == kStandardOutput || csv == kStandardOutput) return;
  const DataType type = parse_values(options.values);
  const TextStyle style = output_style();
  if (!summary) {
    for (const auto& report : reports) print("{}\n", storage_table(report, type, style));
  }
  if (summary || reports.size() > 1) print_text(storage_summary(reports, type, style));
}

void show_backside(const StorageOptions& options, const std::vector<std::string>& traces, bool summary,
                   const std::string& json, const std::string& csv, const Machine& machine) {
  const tensordash::Config config = tensordash::Config::from(machine.params);
  const tensordash::BacksideParams params{.schedulers = options.schedulers,
                                          .cycles_per_block = options.block_cycles};
  const std::unique_ptr<Accelerator> accelerator = machine.build();
  std::vector<tensordash::BacksideReport> reports;
  for (const std::string& path : traces) {
    const Trace trace = Trace::open(path);
    const RunResult run = simulate_trace(trace, *accelerator, machine.name, {}, resolve_threads(0));
    reports.push_back(tensordash::trace_backside(trace, run, config, params));
  }
  write_text(json, backside_to_json(reports), csv, backside_to_csv(reports));
  if (json == kStandardOutput || csv == kStandardOutput) return;
  const TextStyle style = output_style();
  if (!summary) {
    for (const auto& report : reports) print("{}\n", backside_table(report, style));
  }
  print_text(backside_summary(reports, style));
}

}  // namespace

void add_storage_options(CLI::App& command, StorageOptions& options) {
  command.add_flag(
      "--storage", options.storage,
      "Instead: bits of each tensor in TensorDash's scheduled form, zero run-length, bitmap and CSR");
  command.add_flag("--backside", options.backside,
                   "Instead: whether a scheduler behind the PEs keeps up with the outputs of each operation");
  options.only_with_storage = {
      command
          .add_option("--grouping", options.grouping,
                      "--storage: what is scheduled together: blocks (lanes x lanes values, the default), "
                      "channels (of a position), merged (channels; positions between strides together) or "
                      "filters (whole filters; A and G by channels)")
          ->type_name("NAME"),
      command
          .add_option("--values", options.values, "--storage: the type of values in tables (default: fp32)")
          ->type_name("fp32|bfloat16"),
      command
          .add_option("--pointer-bits", options.pointer_bits, "--storage: bits of a pointer (default: 32)")
          ->check(CLI::Range(1, 64).description(""))
          ->type_name("N"),
      command.add_option("--run-bits", options.run_bits, "--storage: bits of a run of zeros (default: 5)")
          ->check(CLI::Range(1, 16).description(""))
          ->type_name("N")};
  options.only_with_backside = {
      command.add_option("--schedulers", options.schedulers, "--backside: schedulers a tile (default: 1)")
          ->check(CLI::Range(1, 1024).description(""))
          ->type_name("N"),
      command
          .add_option("--block-cycles", options.block_cycles,
                      "--backside: cycles a block of outputs takes (default: the levels of the scheduler, 6 "
                      "in the paper)")
          ->check(CLI::Range(1, 64).description(""))
          ->type_name("N")};
  options.only_with_either = {
      command
          .add_option(
              "--set", options.settings,
              "--storage, --backside: change a parameter of TensorDash ('lacuna arch show tensordash')")
          ->allow_extra_args(false)
          ->type_name("key=value")};
}

void check_storage_options(const StorageOptions& options) {
  if (options.storage && options.backside) {
    throw InputError("--backside", "--storage is given too", "ask for one of them at a time");
  }
  const auto need = [](const std::vector<CLI::Option*>& given, bool allowed, std::string_view with) {
    for (const CLI::Option* option : given) {
      if (option->count() > 0 && !allowed)
        throw InputError(option->get_name(), fmt::format("it is an option of {}", with),
                         fmt::format("add {}", with));
    }
  };
  need(options.only_with_storage, options.storage, "--storage");
  need(options.only_with_backside, options.backside, "--backside");
  need(options.only_with_either, options.storage || options.backside, "--storage or --backside");
  for (const CLI::Option* option : options.with_neither) {
    if (option->count() > 0 && (options.storage || options.backside))
      throw InputError(option->get_name(), "it changes nothing with --storage or --backside", "leave it out");
  }
  parse_values(options.values);
  tensordash::parse_grouping(options.grouping, "--grouping");
}

void run_inspect_storage(const StorageOptions& options, const std::vector<std::string>& traces, bool summary,
                         const std::string& json, const std::string& csv) {
  const Machine machine = tensordash_machine(options);
  if (options.storage) {
    show_storage(options, traces, summary, json, csv, machine);
  } else {
    show_backside(options, traces, summary, json, csv, machine);
  }
}

}  // namespace lacuna::cli
