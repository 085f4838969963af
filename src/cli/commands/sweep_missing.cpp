// lacuna sweep in a program that was built without SQLite.
#include "base/error.hpp"
#include "cli/commands.hpp"

namespace lacuna::cli {

void add_sweep_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "sweep", "Thousands of designs on many traces (not in this program: built without SQLite)");
  command->allow_extras();
  command->callback([] {
    throw InputError("lacuna sweep", "this program was built without SQLite",
                     "install libsqlite3-dev and build it again");
  });
}

}  // namespace lacuna::cli
