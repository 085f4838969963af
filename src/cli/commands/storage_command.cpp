// lacuna storage: what tensors take in the form in which a machine stores them, and in others.
#include <memory>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "models/tensordash/storage/storage_study.hpp"
#include "report/study/storage_report.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::cli {
namespace {

struct StorageOptions {
  std::vector<std::string> traces;
  std::string arch;
  std::string config;
  std::vector<std::string> settings;
  bool backside = false;
  DataType values = DataType::kFp32;
  bool layers = false;
  ResultFiles files;
};

std::vector<std::string> value_names() {
  std::vector<std::string> names;
  for (const DataType type : kRecordedTypes) names.emplace_back(data_type_name(type));
  return names;
}

// The model whose machines store tensors in another form than values.
constexpr const char* kModel = "tensordash";

// A machine, and the parameters of the study.
struct Subject {
  Machine machine;
  Params params{fmt::format("the storage study of {}", kModel), tensordash::storage_study_params()};

  void set(const std::string& setting) {
    const std::string origin = "--set " + setting;
    const auto [key, value] = split_assignment(setting, origin);
    if (params.has(key)) return params.set(key, value, origin);
    if (machine.params.has(key)) return machine.params.set(key, value, origin);
    std::vector<std::string> keys;
    for (const Params* known : {&params, &machine.params}) {
      for (const ParamSpec& spec : known->specs()) keys.push_back(spec.name);
    }
    throw InputError(origin, fmt::format("unknown key {}", quote_name(key)), suggest(key, keys));
  }
};

Subject choose_subject(const StorageOptions& options) {
  const ArchCatalog catalog;
  Subject subject{options.config.empty()
                      ? catalog.find(options.arch.empty() ? kModel : options.arch, "--arch")
                      : catalog.load(options.config)};
  if (const std::string& model = subject.machine.model->name; model != kModel) {
    throw InputError(options.config.empty() ? "--arch" : "--config",
                     fmt::format("'{}' stores tensors densely; it has no storage study", model),
                     fmt::format("machines with one: {}", kModel));
  }
  for (const std::string& setting : options.settings) subject.set(setting);
  return subject;
}

// Returns whether tables are printed as well.
bool write_files(const ResultFiles& files, const std::string& json, const std::string& csv) {
  if (!files.json.empty()) write_result(files.json, json);
  if (!files.csv.empty()) write_result(files.csv, csv);
  return !files.quiet();
}

void show_sizes(const StorageOptions& options, const Subject& subject, const Accelerator& machine) {
  std::vector<StorageSizes> all;
  for (const std::string& path : options.traces) {
    const Trace trace = Trace::open(path);  // one in memory at a time
    with_threads(resolve_threads(0),
                 [&] { all.push_back(tensordash::study_sizes(trace, machine, subject.params)); });
    all.back().subject = study_subject(trace, subject.machine.name);
  }
  if (!write_files(options.files, storage_to_json(all), storage_to_csv(all))) return;
  const TextStyle style = output_style();
  if (options.layers) {
    for (const StorageSizes& sizes : all) print("{}\n", storage_table(sizes, options.values, style));
  }
  if (!options.layers || all.size() > 1) print_text(storage_summary(all, options.values, style));
}

void show_backside(const StorageOptions& options, const Subject& subject, const Accelerator& machine) {
  std::vector<BacksideLoads> all;
  for (const std::string& path : options.traces) {
    const Trace trace = Trace::open(path);
    all.push_back(tensordash::study_backside(trace, machine, subject.params, resolve_threads(0)));
    all.back().subject = study_subject(trace, subject.machine.name);
  }
  if (!write_files(options.files, backside_to_json(all), backside_to_csv(all))) return;
  const TextStyle style = output_style();
  if (options.layers) {
    for (const BacksideLoads& loads : all) print("{}\n", backside_table(loads, style));
  }
  print_text(backside_summary(all, style));
}

void run_storage(const StorageOptions& options) {
  options.files.check(options.traces);
  const Subject subject = choose_subject(options);
  const std::unique_ptr<Accelerator> machine = subject.machine.build();
  if (options.backside) {
    show_backside(options, subject, *machine);
  } else {
    show_sizes(options, subject, *machine);
  }
}

// The parameters of the study, for --help.
std::string study_help() {
  std::string text = fmt::format(
      "Parameters of the study of {} (tensors in scheduled form next to zero run-length, bitmap and CSR; "
      "backside schedulers):\n",
      kModel);
  for (const ParamSpec& spec : tensordash::storage_study_params()) {
    text += fmt::format("  --set {}={}  ({}{}{})\n      {}\n", spec.name, spec.default_value, spec.allowed(),
                        spec.unit.empty() ? "" : " ", spec.unit, spec.help);
  }
  return text + fmt::format("  and those of the machine: 'lacuna arch show {}'\n\n", kModel);
}

}  // namespace

void add_storage_command(CLI::App& app) {
  const auto [command, options] = add_command<StorageOptions>(
      app, "storage", "Bits that tensors take in the form a machine stores them in, and in other forms",
      run_storage);
  add_trace_argument(command, options.traces);
  CLI::Option* arch = add(command, "--arch", options.arch, "NAME",
                          fmt::format("A machine of a model with a storage study (default: {})", kModel));
  add(command, "--config", options.config, "FILE",
      "Such a machine described in YAML: 'arch: NAME' and its parameters")
      ->excludes(arch);
  add(command, "--set", options.settings, "key=value",
      "Change a parameter of the study (below) or of the machine")
      ->allow_extra_args(false);
  command.add_flag("--backside", options.backside,
                   "Show whether the unit behind the PEs that brings outputs into this form keeps up");
  add_word(command, "--values", options.values, fmt::format("{}", fmt::join(value_names(), "|")), "type",
           kRecordedTypes, data_type_name, "The type of values that tables are for (default: fp32)");
  command.add_flag("--layers", options.layers, "Also one row per layer");
  add_result_options(command, options.files);
  add_examples(command, {{"lacuna storage *.zst", "totals of each network"},
                         {"lacuna storage a.zst --layers --values bfloat16", "each tensor of each layer"},
                         {"lacuna storage a.zst --set pointer_bits=20", "shorter pointers"},
                         {"lacuna storage a.zst --backside", "can outputs be stored as fast as they come?"},
                         {"lacuna storage a.zst --json - | jq .storage[0].per_batch", "for programs"}});
  command.footer(study_help() + command.get_footer());
}

}  // namespace lacuna::cli
