#include <memory>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "report/arch_report.hpp"

namespace lacuna::cli {
namespace {

struct ArchOptions {
  std::string name;
  bool json = false;
};

}  // namespace

void add_arch_command(CLI::App& app) {
  CLI::App* arch = app.add_subcommand("arch", "What is modelled, and every parameter of it");
  arch->require_subcommand(1);
  add_examples(*arch, {{"lacuna arch list", "the machines that can be simulated"},
                       {"lacuna arch show dense", "every parameter with unit, default, range and source"}});
  const auto options = std::make_shared<ArchOptions>();

  CLI::App* list = arch->add_subcommand("list", "List the machines and named configurations");
  list->add_flag("--json", options->json, "Print JSON");
  add_examples(*list, {{"lacuna arch list", "a line a machine"},
                       {"lacuna arch list --json", "the same for programs"}});
  list->callback([options] {
    const ArchCatalog catalog;
    print_text(options->json ? arch_list_json(catalog) : arch_list_text(catalog, output_style()));
  });

  CLI::App* show = arch->add_subcommand("show", "Show every parameter of a machine or named configuration");
  show->add_option("NAME", options->name, "A name that 'lacuna arch list' prints")->type_name("")->required();
  show->add_flag("--json", options->json, "Print JSON");
  add_examples(*show, {{"lacuna arch show dense", "its parameters"},
                       {"lacuna arch show dense --json", "the same for programs"}});
  show->callback([options] {
    const Machine machine = ArchCatalog().find(options->name, "arch show");
    print_text(options->json ? arch_show_json(machine) : arch_show_text(machine, output_style()));
  });
}

}  // namespace lacuna::cli
