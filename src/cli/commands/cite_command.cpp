// lacuna cite: BibTeX of Lacuna and of the papers behind machines or results.
#include <filesystem>
#include <lacuna_commit.hpp>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "cli/commands.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "report/arch_report.hpp"
#include "report/result/result_json.hpp"
#include "sim/catalog/arch_catalog.hpp"

namespace lacuna::cli {
namespace {

// The models of the machines in a file of results, with those that they were compared with.
void add_models_of(const std::string& file, std::vector<const AcceleratorModel*>& models) {
  const ResultFile results = parse_results_json(ByteSource::open(file)->text(), file);
  const AcceleratorRegistry& registry = AcceleratorRegistry::instance();
  for (const RunResult& run : results.runs) {
    for (const RunResult* machine : {&run, &run.compared_with()}) {
      const AcceleratorModel* model = registry.find(machine->base);
      if (!model)
        throw InputError(file, fmt::format("its model '{}' is not in this program", machine->base),
                         "cite with the program that wrote the file");
      models.push_back(model);
    }
  }
}

void run_cite(const std::vector<std::string>& names) {
  std::vector<const AcceleratorModel*> models;
  const ArchCatalog catalog;
  for (const std::string& name : names) {
    if (name.ends_with(".json") && std::filesystem::exists(name))
      add_models_of(name, models);
    else
      models.push_back(catalog.find(name, "cite").model);
  }
  if (names.empty())
    for (const AcceleratorModel& model : AcceleratorRegistry::instance().models()) models.push_back(&model);
  print_text(bibtex(models, LACUNA_COMMIT));
}

}  // namespace

void add_cite_command(CLI::App& app) {
  const auto [command, names] = add_command<std::vector<std::string>>(
      app, "cite", "BibTeX of Lacuna and of the papers behind machines or results", run_cite);
  add(command, "NAME", names, "",
      "Machines, or results of 'lacuna simulate --json' (default: every machine)");
  add_examples(command, {{"lacuna cite > papers.bib", "Lacuna and the papers of all machines"},
                         {"lacuna cite result.json", "the papers behind the machines of a result"},
                         {"lacuna cite ant scnn", "the papers of two machines"}});
}

}  // namespace lacuna::cli
