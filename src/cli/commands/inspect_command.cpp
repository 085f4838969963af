// lacuna inspect: what is in a trace, and what skipping its zeros could give at best.
#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/text/nearest.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/result/potential_report.hpp"

namespace lacuna::cli {
namespace {

struct InspectOptions {
  std::vector<std::string> traces;
  std::string scheduled = "sparser";
  bool summary = false;
  std::string json;
  std::string csv;
  std::string html;
};

SchedulePolicy parse_policy(const std::string& name) {
  const std::vector<std::string> names(kSchedulePolicies.begin(), kSchedulePolicies.end());
  if (std::ranges::find(names, name) != names.end()) return schedule_policy(name);
  throw InputError("--scheduled", fmt::format("unknown operand '{}'", name), suggest(name, names));
}

void run_inspect(const InspectOptions& options) {
  const SchedulePolicy policy = parse_policy(options.scheduled);
  check_result_files(options.json, options.csv, options.traces);
  check_html(options.html, options.traces, {options.json, options.csv});
  std::vector<Inspection> inspections;
  for (const std::string& path : options.traces) {
    const Trace trace = Trace::open(path);  // one in memory at a time
    inspections.push_back({path, trace.info(), trace.batch(), trace_potential(trace, policy)});
  }
  if (!options.json.empty()) write_result(options.json, inspections_to_json(inspections));
  if (!options.csv.empty()) write_result(options.csv, inspections_to_csv(inspections));
  if (!options.html.empty())
    write_html(options.html, "inspect",
               {{"inspect", inspections_to_json(inspections)}, {"files", files_part(options.traces)}});
  if (options.json == kStandardOutput || options.csv == kStandardOutput) return;
  const TextStyle style = output_style();
  if (!options.summary) {
    for (const Inspection& inspection : inspections) print("{}\n", inspection_table(inspection, style));
  }
  if (options.summary || inspections.size() > 1) print_text(inspection_summary(inspections, style));
}

// Options that were here before `lacuna storage`: the message says where they went.
void refuse_moved_options(CLI::App& command) {
  for (const char* name : {"--storage", "--backside", "--grouping", "--values", "--pointer-bits",
                           "--run-bits", "--schedulers", "--block-cycles", "--set"})
    add_moved_option(command, name, "stored tensors have their own command",
                     "use 'lacuna storage TRACE'; see 'lacuna storage --help'");
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "inspect", "Layers, shapes and zeros of traces; what skipping zeros could give at best");
  const auto options = std::make_shared<InspectOptions>();
  add_trace_argument(*command, options->traces);
  command
      ->add_option(
          "--scheduled", options->scheduled,
          "Whose zeros are skipped: sparser (of the two operands the one with more zeros, the default), "
          "primary (activations forward, gradients backward), A, W or G")
      ->type_name("OPERAND");
  command->add_flag("--summary", options->summary, "Only one row per trace");
  add_result_options(*command, options->json, options->csv);
  add_html_option(*command, options->html);
  refuse_moved_options(*command);
  add_examples(*command, {{"lacuna inspect resnet50.safetensors.zst", "one row per layer"},
                          {"lacuna inspect --summary *.zst", "one row per network"},
                          {"lacuna inspect a.zst --json - | jq .traces[0].total", "for programs"}});
  command->callback([options] { run_inspect(*options); });
}

}  // namespace lacuna::cli
