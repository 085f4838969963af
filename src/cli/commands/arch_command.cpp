#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/arch_report.hpp"
#include "report/energy/area_report.hpp"
#include "sim/catalog/choose_machines.hpp"
#include "sim/simulation.hpp"

namespace lacuna::cli {
namespace {

struct ArchOptions {
  bool json = false;
  MachineChoice machines;
  std::string energy_table;
  int node = 0;
};

// A machine with the table that prices it, and its baseline if the same table prices that. Throws InputError.
AreaOf price_machine(const ArchOptions& options, const Machine& machine) {
  const Simulation simulation({machine});
  auto hardware = simulation.machine(0).hardware();
  if (!hardware) {
    throw InputError("arch area", fmt::format("'{}' has no area model", machine.name),
                     "take another machine");
  }
  CostTable table = area_table(options.energy_table, options.node, *hardware);
  if (!options.energy_table.empty()) check_cost_names(table, ArchCatalog().all_hardware());
  check_area_costs(table, *hardware, machine.name);
  AreaOf priced{machine.name, *std::move(hardware), std::move(table)};
  const Accelerator& baseline = simulation.baseline(0);
  auto of_baseline = baseline.hardware();
  // Areas from different sources (a published chip, a table of units) are not comparable.
  if (&baseline != &simulation.machine(0) && of_baseline &&
      of_baseline->area_table == priced.hardware.area_table) {
    priced.baseline =
        std::make_shared<AreaOf>(AreaOf{baseline.params().owner(), *std::move(of_baseline), priced.table});
  }
  return priced;
}

void need_machine(const MachineChoice& choice, const char* command) {
  if (choice.names.empty() && choice.configs.empty())
    throw InputError(command, "no machine is named", "give a name of 'lacuna arch list' or --config FILE");
}

void run_list(const ArchOptions& options) {
  const ArchCatalog catalog;
  print_text(options.json ? arch_list_json(catalog) : arch_list_text(catalog, output_style()));
}

void run_show(const ArchOptions& options) {
  need_machine(options.machines, "arch show");
  const std::vector<Machine> machines = choose_machines(options.machines, {.names = "arch show"});
  if (machines.size() > 1)
    throw InputError("arch show", fmt::format("{} machines are named", machines.size()),
                     "show one at a time; 'lacuna arch list' and 'lacuna arch area' take several");
  const Machine& machine = machines.front();
  // Values that do not go together are refused here, not first by a simulation.
  machine.build();
  print_text(options.json ? arch_show_json(machine) : arch_show_text(machine, output_style()));
}

void run_area(const ArchOptions& options) {
  need_machine(options.machines, "arch area");
  std::vector<AreaOf> priced;
  for (const Machine& machine : choose_machines(options.machines, {.names = "arch area"}))
    priced.push_back(price_machine(options, machine));
  print_text(options.json         ? areas_json(priced)
             : priced.size() == 1 ? area_text(priced.front(), output_style())
                                  : areas_text(priced, output_style()));
}

void add_machines(CLI::App& command, MachineChoice& machines, const char* names) {
  add(command, "NAME", machines.names, "", names);
  add_machine_options(command, machines);
}

}  // namespace

void add_arch_command(CLI::App& app) {
  CLI::App* arch = app.add_subcommand("arch", "What is modelled: machines, their parameters, their area");
  arch->require_subcommand(1);
  add_examples(*arch, {{"lacuna arch list", "the machines that can be simulated"},
                       {"lacuna arch show dense", "every parameter with unit, default, range and source"},
                       {"lacuna arch area tensordash", "area and peak power by component"}});
  const auto [list, listed] =
      add_command<ArchOptions>(*arch, "list", "List the machines and named configurations", run_list);
  add_json_flag(list, listed.json);
  add_examples(list, {{"lacuna arch list", "one line per machine"},
                      {"lacuna arch list --json", "the same for programs"}});

  const auto [show, shown] = add_command<ArchOptions>(
      *arch, "show", "Show every parameter of a machine or named configuration", run_show);
  add_machines(show, shown.machines, "A name that 'lacuna arch list' prints");
  add_json_flag(show, shown.json);
  add_examples(show, {{"lacuna arch show dense", "its parameters"},
                      {"lacuna arch show dense --json", "the same for programs"},
                      {"lacuna arch show --config mine.yaml", "those of a file, and what it changes"}});

  const auto [area, priced] =
      add_command<ArchOptions>(*arch, "area", "Area and peak power of machines by component", run_area);
  add_machines(area, priced.machines, "Names that 'lacuna arch list' prints; several stand side by side");
  add_cost_options(area, priced.energy_table, priced.node);
  add_json_flag(area, priced.json);
  add_examples(
      area, {{"lacuna arch area tensordash", "Table 3 of the paper, and the memories"},
             {"lacuna arch area tensordash --set depth=2 --set tiles=8", "another configuration"},
             {"lacuna arch area tensordash --set arithmetic=bfloat16 --node 7", "another data type, at 7 nm"},
             {"lacuna arch area dense tensordash --config mine.yaml", "three machines side by side"},
             {"lacuna arch area ant", "the published areas of SCNN and ANT, 16 nm"}});
}

}  // namespace lacuna::cli
