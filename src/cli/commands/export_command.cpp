// lacuna export: traces as inputs of other programs.
#include <filesystem>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/text/quote.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/sparseloop/sparseloop.hpp"

namespace lacuna::cli {
namespace {

struct ExportOptions {
  std::string trace;
  std::string folder;
  std::string table = "65nm-fp32";
  SparseloopOptions sparseloop;
};

void run_sparseloop(const ExportOptions& options) {
  const std::vector<ExportedFile> files = sparseloop_files(
      Trace::open(options.trace), CostTable::open(options.table, "--energy-table"), options.sparseloop);
  const std::filesystem::path folder(options.folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw InputError("--output", fmt::format("{}: {}", quote_name(options.folder), error.message()),
                     "name a folder that can be written");
  for (const ExportedFile& file : files)
    write_file(folder / file.name, file.text, OutputFile::Links::kRefuse);
  print("{} in {}\n", counted(static_cast<std::int64_t>(files.size()), "file"), printable(options.folder));
}

}  // namespace

void add_export_command(CLI::App& app) {
  CLI::App* group = app.add_subcommand("export", "Write a trace as inputs of other programs");
  group->require_subcommand(1);
  const auto [command, options] = add_command<ExportOptions>(
      *group, "sparseloop",
      "Shapes, measured densities and energies as YAML of Timeloop, Sparseloop and Accelergy",
      run_sparseloop);
  add(command, "TRACE", options.trace, "", "A recorded training step")->required();
  add(command, "-o,--output", options.folder, "FOLDER", "Folder for the files")
      ->required()
      ->check(not_empty());
  add_choice(command, "--density-model", options.sparseloop.density_model, kDensityModels,
             "How Sparseloop distributes zeros of a measured share")
      ->capture_default_str();
  add(command, "--energy-table", options.table, "NAME|FILE", "Costs of multipliers and memories")
      ->capture_default_str();
  add_examples(command, {{"lacuna export sparseloop resnet50.safetensors.zst -o sparseloop",
                          "one problem per layer and operation, with arch.yaml and ERT.yaml"}});
}

}  // namespace lacuna::cli
