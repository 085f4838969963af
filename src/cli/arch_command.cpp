#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "sim/accelerator.hpp"

namespace lacuna::cli {
namespace {

void list_architectures() {
  for (const AcceleratorModel& model : AcceleratorRegistry::instance().models()) {
    print("{:<20} {}\n", model.name, model.summary);
  }
}

}  // namespace

void add_arch_command(CLI::App& app) {
  CLI::App* arch = app.add_subcommand("arch", "What is modelled, and every parameter of it");
  arch->require_subcommand(1);
  add_examples(*arch, {{"lacuna arch list", "the machines that can be simulated"}});

  CLI::App* list = arch->add_subcommand("list", "List the machines that can be simulated");
  add_examples(*list, {{"lacuna arch list", "one line a machine"}});
  list->callback(list_architectures);
}

}  // namespace lacuna::cli
