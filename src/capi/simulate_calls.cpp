// lacuna_simulate(), its results, and the machines there are.
#include <fmt/format.h>
#include <limits>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/text/nearest.hpp"
#include "base/text/quote.hpp"
#include "base/version.hpp"
#include "base/work_progress.hpp"
#include "capi/handles.hpp"
#include "report/arch_report.hpp"
#include "report/html_report.hpp"
#include "report/result/potential_report.hpp"
#include "report/result/result_csv.hpp"
#include "report/result/result_json.hpp"

namespace lacuna::capi {
namespace {

std::vector<std::string> strings(const char* const* texts, std::size_t count, std::string_view name) {
  std::vector<std::string> copies;
  if (count > 0) require(texts, name);
  for (std::size_t i = 0; i < count; ++i) {
    require(texts[i], name);
    copies.emplace_back(texts[i]);
  }
  return copies;
}

Engine engine_of(const char* name) {
  const std::string word = name == nullptr ? "fast" : name;
  if (word == "fast") return Engine::kFast;
  if (word == "functional") return Engine::kFunctional;
  throw InputError("engine", fmt::format("unknown engine {}", quote_name(word)),
                   suggest(word, {"fast", "functional"}));
}

// Bits as lacuna.h has them; none: all three.
PerOperation<bool> operations_of(unsigned bits) {
  if (bits > 7)
    throw InputError("operations", fmt::format("{} is not a choice of operations", bits),
                     "add 1 (forward), 2 (input_grad) and 4 (weight_grad), or give 0 for all");
  if (bits == 0) return {true, true, true};
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

// The share of all work, from that of one trace; ends it if the caller says so.
ProgressCallback progress_of(const lacuna_simulate_options& options, std::size_t index, std::size_t count) {
  if (options.progress == nullptr) return {};
  return [options, index, count](double share) {
    const double done = (static_cast<double>(index) + share) / static_cast<double>(count);
    if (options.progress(done, options.user) != 0) throw Stopped();
  };
}

StopCallback stop_of(const lacuna_simulate_options& options) {
  if (options.cancel == nullptr) return {};
  return [flag = options.cancel] { return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; };
}

void run_all(const lacuna_simulate_options& options, lacuna_result& result) {
  const SimOptions sim{.engine = engine_of(options.engine),
                       .seed = options.seed == 0 ? 1 : options.seed,
                       .actions_without_zeros = options.energy != 0,
                       .operations = operations_of(options.operations)};
  const std::vector<Machine> machines =
      choose_machines({strings(options.machines, options.machine_count, "machines"),
                       strings(options.configs, options.config_count, "configs"),
                       strings(options.settings, options.setting_count, "settings")},
                      {"machines", "configs", "set"});
  if (options.threads < 0 || options.threads > 4096)
    throw InputError("threads", fmt::format("{} is not a number of threads", options.threads),
                     "give 0 (all cores) to 4096");
  Simulation simulation(machines);
  if (options.energy != 0)
    simulation.price({options.energy_table == nullptr ? "" : options.energy_table, options.node_nm},
                     "energy_table");
  const int threads = threads_for(options.threads);
  const StopCallback stop = stop_of(options);
  const std::vector<Trace>& traces = result.traces;
  for (std::size_t i = 0; i < traces.size(); ++i)
    result.outcome.append(
        simulation.run(traces[i], sim, threads, progress_of(options, i, traces.size()), stop));
  result.notes = simulation_notes(machines, simulation, sim.engine, result.outcome);
}

std::string page_of(const lacuna_result& result, const char* command) {
  require_report_page();
  std::vector<Inspection> inspections;
  for (const Trace& trace : result.traces)
    inspections.push_back({trace.path(), trace.info(), trace.batch(), trace_potential(trace)});
  return html_report(
      {"simulate",
       command == nullptr ? "liblacuna" : command,
       {{"library", fmt::format("liblacuna {}", version())}},
       {{"simulate", results_to_json(result.outcome, true)}, {"inspect", inspections_to_json(inspections)}}});
}

}  // namespace
}  // namespace lacuna::capi

using namespace lacuna;
using namespace lacuna::capi;

lacuna_status lacuna_machines_json(char** json) {
  return guarded([&] {
    require(json, "json");
    *json = copy_text(arch_list_json(ArchCatalog()));
  });
}

lacuna_status lacuna_parameters_json(const char* machine, char** json) {
  return guarded([&] {
    require_all("machine, json", {machine, json});
    *json = copy_text(arch_show_json(ArchCatalog().find(machine, "machine")));
  });
}

lacuna_status lacuna_simulate(const lacuna_trace* const* traces, size_t count,
                              const lacuna_simulate_options* options, lacuna_result** result) {
  return guarded_parallel([&] {
    require_all("result, traces", {result, traces});
    if (count == 0) throw InputError("liblacuna", "no trace is given", "give at least one");
    lacuna_simulate_options chosen{};
    if (options != nullptr) chosen = sized_copy(options, "options");
    auto made = std::make_unique<lacuna_result>();
    for (std::size_t i = 0; i < count; ++i) {
      require(traces[i], "traces");
      made->traces.push_back(traces[i]->trace);
    }
    run_all(chosen, *made);
    *result = made.release();
  });
}

void lacuna_result_free(lacuna_result* result) { delete result; }

size_t lacuna_result_count(const lacuna_result* result) {
  return result == nullptr ? 0 : result->outcome.runs.size();
}

lacuna_status lacuna_result_totals(const lacuna_result* result, size_t run, lacuna_totals* totals) {
  return guarded([&] {
    require(result, "result");
    if (totals == nullptr || totals->struct_size < sizeof *totals) refuse_missing("totals");
    const SimulationOutcome& outcome = result->outcome;
    if (run >= outcome.runs.size())
      throw InputError("liblacuna", fmt::format("there is no run {}", run),
                       fmt::format("the result has {}", outcome.runs.size()));
    const RunResult& of = outcome.runs[run];
    const CycleComparison cycles = of.per_batch().all;
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    totals->machine = of.arch.c_str();
    totals->trace = run / (outcome.runs.size() / result->traces.size());
    totals->baseline_cycles = cycles.baseline_cycles;
    totals->cycles = cycles.cycles;
    totals->cycles_without_zeros = cycles.cycles_without_zeros;
    const RunEnergy* energy = outcome.energies.empty() ? nullptr : &outcome.energies[run];
    const bool priced = energy != nullptr && !energy->layers.empty();
    totals->baseline_joules = priced ? energy->all.baseline.total() : unknown;
    totals->joules = priced ? energy->all.machine.total() : unknown;
    totals->baseline_seconds = priced ? energy->baseline_seconds : unknown;
    totals->seconds = priced ? energy->machine_seconds : unknown;
  });
}

lacuna_status lacuna_result_json(const lacuna_result* result, int layers, char** json) {
  return guarded([&] {
    require_all("result, json", {result, json});
    *json = copy_text(results_to_json(result->outcome, layers != 0));
  });
}

lacuna_status lacuna_result_csv(const lacuna_result* result, char** csv) {
  return guarded([&] {
    require_all("result, csv", {result, csv});
    *csv = copy_text(results_to_csv(result->outcome));
  });
}

lacuna_status lacuna_result_text(const lacuna_result* result, int layers, int width, char** text) {
  return guarded([&] {
    require_all("result, text", {result, text});
    TextStyle style;
    if (width > 0) style.width = width;
    *text = copy_text(simulation_text(result->outcome, result->notes, layers != 0, std::nullopt, style));
  });
}

lacuna_status lacuna_result_html(const lacuna_result* result, const char* command, char** html) {
  return guarded([&] {
    require_all("result, html", {result, html});
    *html = copy_text(page_of(*result, command));
  });
}

lacuna_status lacuna_result_write_html(const lacuna_result* result, const char* command, const char* path) {
  return guarded([&] {
    require_all("result, path", {result, path});
    write_file(path, page_of(*result, command));
  });
}
