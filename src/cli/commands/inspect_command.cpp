// lacuna inspect: what is in a trace, and what skipping its zeros could give at best.
#include <functional>

#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/result/potential_report.hpp"

namespace lacuna::cli {
namespace {

struct InspectOptions {
  std::vector<std::string> traces;
  std::string_view scheduled = "sparser";
  bool summary = false;
  ResultFiles files;
};

void run_inspect(const InspectOptions& options) {
  const SchedulePolicy policy = schedule_policy(options.scheduled);
  options.files.check(options.traces);
  std::vector<Inspection> inspections;
  for (const std::string& path : options.traces) {
    const Trace trace = Trace::open(path);  // one in memory at a time
    inspections.push_back({path, trace.info(), trace.batch(), trace_potential(trace, policy)});
  }
  const auto& [json, csv, html] = options.files;
  if (!json.empty()) write_result(json, inspections_to_json(inspections));
  if (!csv.empty()) write_result(csv, inspections_to_csv(inspections));
  if (!html.empty())
    write_html(html, "inspect",
               {{"inspect", inspections_to_json(inspections)}, {"files", files_part(options.traces)}});
  if (options.files.quiet()) return;
  const TextStyle style = output_style();
  if (!options.summary) {
    for (const Inspection& inspection : inspections) print("{}\n", inspection_table(inspection, style));
  }
  if (options.summary || inspections.size() > 1) print_text(inspection_summary(inspections, style));
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  const auto [command, options] = add_command<InspectOptions>(
      app, "inspect", "Layers, shapes and zeros of traces; what skipping zeros could give at best",
      run_inspect);
  add_trace_argument(command, options.traces);
  add_word(command, "--scheduled", options.scheduled, "OPERAND", "operand", kSchedulePolicies,
           std::identity(),
           "Whose zeros are skipped: sparser (of the two operands the one with more zeros, the default), "
           "primary (activations forward, gradients backward), A, W or G");
  command.add_flag("--summary", options.summary, "Only one row per trace");
  add_result_options(command, options.files);
  add_html_option(command, options.files.html);
  add_examples(command, {{"lacuna inspect resnet50.safetensors.zst", "one row per layer"},
                         {"lacuna inspect --summary *.zst", "one row per network"},
                         {"lacuna inspect a.zst --json - | jq .traces[0].total", "for programs"}});
}

}  // namespace lacuna::cli
