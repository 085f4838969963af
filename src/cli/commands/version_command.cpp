// lacuna version, lacuna --version: what exactly this program is.
#include <lacuna_commit.hpp>
#if !defined(LACUNA_WITHOUT_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

#include "base/cpu.hpp"
#include "base/optional_libraries.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/terminal.hpp"

namespace lacuna::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "gcc " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

std::string onednn_version() {
#if defined(LACUNA_WITHOUT_ONEDNN)
  return "none";
#else
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
#endif
}

// The names of those that are here, or of those that are not with what they are needed for.
std::string libraries(bool present) {
  std::string text;
  for (const OptionalLibrary& one : kOptionalLibraries)
    if (one.present == present)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", one.name,
                          present ? "" : fmt::format(" ({})", one.use));
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> build_facts() {
  return {{"commit", LACUNA_COMMIT},
          {"compiler", kCompiler},
          {"cpu", std::string(isa_name(best_isa()))},
          {"onednn", onednn_version()}};
}

std::string version_text() {
  std::string text = fmt::format("lacuna {}", version());
  for (const auto& [name, value] : build_facts()) text += fmt::format("\n{}: {}", name, value);
  return text + fmt::format("\nbuilt with: {}\nbuilt without: {}", libraries(true), libraries(false));
}

void add_version_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "version", "Version, commit, compiler, instruction set and libraries of this program");
  add_examples(*command, {{"lacuna version", "to quote with a result or a report of a defect"},
                          {"lacuna version | head -n 1", "\"lacuna VERSION\" alone"}});
  command->callback([] { print("{}\n", version_text()); });
}

}  // namespace lacuna::cli
