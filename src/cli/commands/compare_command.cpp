#include <memory>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/compare/comparison.hpp"

namespace lacuna::cli {
namespace {

struct CompareOptions {
  std::string a;
  std::string b;
  double threshold_percent = 0;
  std::size_t limit = 20;
  bool json = false;
  std::string html;
};

ResultFile read_results(const std::string& path) {
  const auto source = ByteSource::open(path);
  return parse_results_json({reinterpret_cast<const char*>(source->bytes().data()), source->bytes().size()},
                            path);
}

void run_compare(const CompareOptions& options) {
  check_html(options.html, {options.a, options.b});
  const ResultFile a = read_results(options.a);
  const ResultFile b = read_results(options.b);
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
  CLI::App* command =
      app.add_subcommand("compare", "What changed between two JSON results; exits with 1 if they differ");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("A.json", options->a, "A result of 'lacuna simulate --json'")
      ->required()
      ->type_name("");
  command->add_option("B.json", options->b, "Another one")->required()->type_name("");
  command
      ->add_option("--threshold", options->threshold_percent,
                   "Ignore relative changes of up to this many percent (default: 0)")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("PERCENT");
  command
      ->add_option("--limit", options->limit,
                   "Show at most this many layers and operations per run; 0: all (default: 20)")
      ->type_name("N");
  add_json_flag(*command, options->json);
  add_html_option(*command, options->html);
  add_examples(
      *command,
      {{"lacuna compare before.json after.json", "by model, operation and layer, the largest change first"},
       {"lacuna compare a.json b.json --threshold 1", "exit code 0: equal within 1 %, 1: not, 2: an error"}});
  command->callback([options] { run_compare(*options); });
}

}  // namespace lacuna::cli
