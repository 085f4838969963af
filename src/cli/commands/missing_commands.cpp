// Commands whose library this program was built without: each reports which one.
#include "base/optional_libraries.hpp"
#include "cli/commands.hpp"

namespace lacuna::cli {
namespace {

[[maybe_unused]] void add_missing(CLI::App& app, const std::string& name, const std::string& help,
                                  const OptionalLibrary& library) {
  CLI::App* command =
      app.add_subcommand(name, fmt::format("{} (not in this program: built without {})", help, library.name));
  command->allow_extras();
  command->callback([name, library] { throw missing_library(library, "lacuna " + name); });
}

}  // namespace

#if defined(LACUNA_WITHOUT_ONEDNN)
void add_demo_command(CLI::App& app) { add_missing(app, "demo", "Everything on a small example", kOneDnn); }
void add_train_command(CLI::App& app) { add_missing(app, "train", "Trains a network", kOneDnn); }
void add_bench_command(CLI::App& app) { add_missing(app, "bench", "Times the CPU kernels", kOneDnn); }
#endif
#if defined(LACUNA_WITHOUT_SQLITE)
void add_sweep_command(CLI::App& app) {
  add_missing(app, "sweep", "Thousands of designs on many traces", kSqlite);
}
#endif

}  // namespace lacuna::cli
