#include <filesystem>

#include "base/io/byte_source.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/compare/comparison.hpp"
#include "report/compare/fixed_baseline.hpp"

namespace lacuna::cli {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  double threshold_percent = 0;
  std::size_t limit = 20;
  bool json = false;
  std::string html;
  std::string baseline;
};

// A file of results, or a machine of A.json.
BaselineRuns read_baseline(const std::string& baseline, const ResultFile& a) {
  std::error_code ignored;
  if (!std::filesystem::exists(baseline, ignored)) return baseline_runs(a, baseline, "--baseline");
  return baseline_runs(parse_results_json(ByteSource::open(baseline)->text(), baseline), "", baseline);
}

void run_compare(const CompareOptions& options) {
  check_html(options.html, {options.a, options.b, options.baseline});
  ResultFile a = parse_results_json(ByteSource::open(options.a)->text(), options.a);
  ResultFile b = parse_results_json(ByteSource::open(options.b)->text(), options.b);
  if (!options.baseline.empty()) {
    const BaselineRuns baselines = read_baseline(options.baseline, a);
    fix_baseline(a, baselines, options.a);
    fix_baseline(b, baselines, options.b);
  }
  const ComparedFiles files{options.a, options.b, a.lacuna, b.lacuna, options.threshold_percent / 100};
  const Comparison comparison = compare_results(a, b, files.threshold);
  if (!options.html.empty())
    write_html(options.html, "compare", {{"compare", comparison_json(comparison, files)}});
  print_text(options.json ? comparison_json(comparison, files)
                          : comparison_text(comparison, files, options.limit, output_style()));
  if (comparison.differs()) exit_with(1);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  const auto [command, options] = add_command<CompareOptions>(
      app, "compare", "What changed between two JSON results; exits with 1 if they differ", run_compare);
  add(command, "A.json", options.a, "", "A result of 'lacuna simulate --json'")->required();
  add(command, "B.json", options.b, "", "Another one")->required();
  add(command, "--threshold", options.threshold_percent, "PERCENT",
      "Ignore relative changes of up to this many percent (default: 0)")
      ->check(CLI::Range(0.0, 1e6).description(""));
  add(command, "--limit", options.limit, "N",
      "Show at most this many layers and operations per run; 0: all (default: 20)");
  add(command, "--baseline", options.baseline, "NAME|FILE",
      "Take all speedups over this machine of A.json, or over the one of another result (default: over the "
      "baselines they were simulated with)");
  add_json_flag(command, options.json);
  add_html_option(command, options.html);
  add_examples(
      command,
      {{"lacuna compare before.json after.json", "by model, operation and layer, the largest change first"},
       {"lacuna compare a.json b.json --baseline dense", "speedups of both over the dense machine of a.json"},
       {"lacuna compare a.json b.json --threshold 1", "exit code 0: equal within 1 %, 1: not, 2: an error"}});
}

}  // namespace lacuna::cli
