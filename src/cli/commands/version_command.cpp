// lacuna version, lacuna --version: what exactly this program is.
#include <lacuna_commit.hpp>

#include "base/cpu.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/terminal.hpp"
#include "kernels/onednn/onednn.hpp"

namespace lacuna::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "gcc " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

}  // namespace

std::vector<std::pair<std::string, std::string>> build_facts() {
  const dnnl_version_t* onednn = dnnl_version();
  return {{"commit", LACUNA_COMMIT},
          {"compiler", kCompiler},
          {"cpu", std::string(isa_name(best_isa()))},
          {"onednn", fmt::format("{}.{}.{}", onednn->major, onednn->minor, onednn->patch)}};
}

std::string version_text() {
  std::string text = fmt::format("lacuna {}", version());
  for (const auto& [name, value] : build_facts()) text += fmt::format("\n{}: {}", name, value);
  return text;
}

void add_version_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("version", "Version, commit, compiler, instruction set and oneDNN of this program");
  add_examples(*command, {{"lacuna version", "to quote with a result or a report of a defect"},
                          {"lacuna version | head -n 1", "\"lacuna VERSION\" alone"}});
  command->callback([] { print("{}\n", version_text()); });
}

}  // namespace lacuna::cli
