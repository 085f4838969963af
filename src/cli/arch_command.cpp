#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "report/arch_report.hpp"
#include "report/area_report.hpp"
#include "sim/simulate.hpp"

namespace lacuna::cli {
namespace {

struct ArchOptions {
  std::string name;
  bool json = false;
  std::vector<std::string> settings;
  std::string energy_table;
  int node = 0;
};

// The hardware of a machine whose area the table prices. Throws InputError.
Hardware hardware_with_area(const std::string& name, const Accelerator& machine) {
  auto hardware = machine.hardware();
  if (!hardware) {
    throw InputError("arch area", fmt::format("'{}' has no area model", name), "take another machine");
  }
  return *std::move(hardware);
}

void run_area(const ArchOptions& options) {
  const ArchCatalog catalog;
  std::vector<Machine> machines{catalog.find(options.name, "arch area")};
  for (const std::string& setting : options.settings) apply_setting(machines, setting, "--set " + setting);
  Simulator simulator;
  simulator.add(options.name, machines.front().build());
  const Hardware hardware = hardware_with_area(options.name, simulator.machine(0));
  const CostTable table = area_table(options.energy_table, options.node, hardware);
  if (!options.energy_table.empty()) check_cost_names(table, catalog.all_hardware());
  check_area_costs(table, hardware, options.name);
  const AreaOf machine{options.name, hardware, table};

  const Accelerator& baseline = simulator.baseline(0);
  const auto baseline_hardware = baseline.hardware();
  // Areas from different sources (a published chip, a table of units) are not comparable.
  const bool comparable = &baseline != &simulator.machine(0) && baseline_hardware &&
                          baseline_hardware->area_table == hardware.area_table;
  std::optional<AreaOf> beside;
  if (comparable) beside.emplace(AreaOf{baseline.params().owner(), *baseline_hardware, table});
  const AreaOf* other = beside ? &*beside : nullptr;
  print_text(options.json ? area_json(machine, other) : area_text(machine, other, output_style()));
}

}  // namespace

void add_arch_command(CLI::App& app) {
  CLI::App* arch = app.add_subcommand("arch", "What is modelled: machines, their parameters, their area");
  arch->require_subcommand(1);
  add_examples(*arch, {{"lacuna arch list", "the machines that can be simulated"},
                       {"lacuna arch show dense", "every parameter with unit, default, range and source"},
                       {"lacuna arch area tensordash", "area and peak power by component"}});
  const auto options = std::make_shared<ArchOptions>();

  CLI::App* list = arch->add_subcommand("list", "List the machines and named configurations");
  list->add_flag("--json", options->json, "Print JSON");
  add_examples(*list, {{"lacuna arch list", "one line per machine"},
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

  CLI::App* area = arch->add_subcommand("area", "Area and peak power of a machine by component");
  area->add_option("NAME", options->name, "A name that 'lacuna arch list' prints")->type_name("")->required();
  area->add_option("--set", options->settings, "Change a parameter ('lacuna arch show NAME')")
      ->allow_extra_args(false)
      ->type_name("key=value");
  add_cost_options(*area, options->energy_table, options->node);
  area->add_flag("--json", options->json, "Print JSON");
  add_examples(*area, {{"lacuna arch area tensordash", "Table 3 of the paper, and the memories"},
                       {"lacuna arch area tensordash --set depth=2 --set tiles=8", "another configuration"},
                       {"lacuna arch area tensordash --set arithmetic=bfloat16 --node 7",
                        "another data type, at 7 nm"},
                       {"lacuna arch area ant", "the published areas of SCNN and ANT, 16 nm"}});
  area->callback([options] { run_area(*options); });
}

}  // namespace lacuna::cli
