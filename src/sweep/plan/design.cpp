#include "sweep/plan/design.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/io/embedded_file.hpp"
#include "base/io/sha256/sha256.hpp"
#include "base/version.hpp"
#include "energy/energy.hpp"
#include "report/arch_report.hpp"
#include "report/result/run_fields.hpp"
#include "sim/catalog/choose_machines.hpp"

namespace lacuna::sweep {

std::span<const EmbeddedFile> embedded_assumptions();  // cmake/LacunaEmbed.cmake

namespace {

std::string configuration(const Params& params) { return config_json(resolved_config(params)).dump(); }

}  // namespace

ProgramRecord this_program() {
  const auto files = embedded_assumptions();
  return {std::string(version()), kResultsVersion, files.empty() ? "" : std::string(files.front().bytes)};
}

DesignFactory::DesignFactory(const DesignSpace& space) : space_(space), program_(this_program()) {
  std::optional<Machine> baseline = space.plan().baseline;
  if (!baseline) return;
  follow_memory(*baseline, space.shared("memory"));
  baseline_ = baseline->build();
}

std::string point_key(const std::string& design_key, const std::string& trace_sha256) {
  return sha256_hex(fmt::format("design {}\ntrace {}\n", design_key, trace_sha256));
}

std::shared_ptr<const CostTable> DesignFactory::table(const std::string& name, int node,
                                                      const Hardware& hardware, bool area) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}", name, node, hardware.data_type, area, hardware.area_table);
  const std::scoped_lock lock(mutex_);
  auto& table = tables_[key];
  if (!table) {
    table = std::make_shared<const CostTable>(area ? area_table(name, node, hardware)
                                                   : energy_table(name, node, hardware));
  }
  return table;
}

// A built-in table belongs to the program's version; a file is known by its content.
std::string DesignFactory::table_identity(const std::string& name) {
  const std::vector<std::string> built_in = CostTable::built_in();
  if (name.empty() || std::ranges::find(built_in, name) != built_in.end()) return name;
  const std::scoped_lock lock(mutex_);
  std::string& identity = identities_[name];
  if (identity.empty()) identity = sha256_of_file(name);
  return identity;
}

Simulation DesignFactory::simulation() const {
  Simulation empty;
  if (baseline_) empty.fix_baseline(space_.plan().baseline->name, baseline_);
  return empty;
}

Design DesignFactory::make(const Choice& choice) {
  const Machine machine = space_.machine(choice);
  const std::string table_name = space_.energy_table(choice);
  const int node = space_.node(choice);
  const Measures measures = space_.plan().measures;
  Design design;
  design.machine = machine.build();
  DesignRecord& record = design.record;
  const Params& params = design.machine->params();
  record.machine = machine.name;
  record.model = params.owner();
  record.configuration = configuration(params);
  record.parameters = changed_parameters(params);
  std::erase(record.parameters, ',');
  std::string content = fmt::format("lacuna {} results {}\nmodel {}\n", program_.version,
                                    program_.results_version, record.model);
  for (const auto& [name, value] : params.values()) content += fmt::format("{}={}\n", name, value);
  if (baseline_) {
    content += fmt::format("baseline {}\n", baseline_->params().owner());
    for (const auto& [name, value] : baseline_->params().values())
      content += fmt::format("{}={}\n", name, value);
  }
  content += fmt::format("table {}\nnode {}\n", table_identity(table_name), node);
  record.key = sha256_hex(content);

  Simulation with_baseline = simulation();
  with_baseline.add(machine.name, design.machine);
  const Accelerator& baseline = with_baseline.baseline(0);
  if (&baseline != design.machine.get()) {
    record.baseline = baseline.params().owner();
    record.baseline_configuration = configuration(baseline.params());
  }
  const std::optional<Hardware> hardware = design.machine->hardware();
  const std::optional<Hardware> of_baseline = baseline.hardware();
  if (!hardware) return design;
  record.frequency_mhz = hardware->frequency_mhz;
  if ((measures & measures_of(Measure::kEnergy)) != 0 && of_baseline) {
    design.table = table(table_name, node, *hardware, false);
    check_energy_costs(*design.table, *hardware, record.machine);
    check_energy_costs(*design.table, *of_baseline, record.baseline);
    record.energy_table = design.table->name;
    record.node_nm = design.table->node_nm;
  }
  if ((measures & measures_of(Measure::kArea)) != 0 && hardware->area_unknown.empty()) {
    try {
      const RunArea area =
          run_area(record.machine, *hardware, of_baseline, *table(table_name, node, *hardware, true));
      record.area_mm2 = area.machine.total_mm2;
      record.compute_area_mm2 = area.machine.compute_mm2;
      if (area.baseline) record.baseline_area_mm2 = area.baseline->total_mm2;
      record.node_nm = area.node_nm;
    } catch (const InputError&) {  // an energy table need not have areas
    }
  }
  return design;
}

bool DesignFactory::within_limits(const Choice& choice, const Design& design) const {
  const DesignRecord& record = design.record;
  const auto value_of = [&](const std::string& name) -> Value {
    const auto known = [](const std::optional<double>& value) { return value ? Value(*value) : Value(); };
    if (name == "area_mm2") return known(record.area_mm2);
    if (name == "compute_area_mm2") return known(record.compute_area_mm2);
    if (name == "area_ratio") {
      if (!record.area_mm2 || !record.baseline_area_mm2) return {};
      return *record.area_mm2 / *record.baseline_area_mm2;
    }
    if (name != "multipliers" || design.machine->params().has(name)) return space_.value(choice, name);
    const std::optional<Hardware> hardware = design.machine->hardware();
    if (!hardware) return {};
    const auto total = std::ranges::find(hardware->totals, name, &DesignTotal::name);
    return total == hardware->totals.end() ? Value() : Value(total->value);
  };
  return std::ranges::all_of(space_.plan().limits, [&](const Expression& limit) {
    std::vector<Value> values;
    for (const Expression::Name& name : limit.names()) values.push_back(value_of(name.name));
    return limit.holds(values);
  });
}

DesignList list_designs(DesignFactory& factory, const std::function<void(const DesignRecord&)>& found) {
  const Plan& plan = factory.space().plan();
  DesignList list;
  std::set<std::string> seen;
  factory.space().for_each([&](const Choice& choice) {
    ++list.allowed;
    std::optional<DesignRecord> added;
    try {
      const Design design = factory.make(choice);
      if (!factory.within_limits(choice, design)) {
        ++list.over_limits;
      } else if (seen.insert(design.record.key).second) {
        list.entries.push_back({choice, design.record.key, design.machine->sharing_key()});
        added = design.record;
      }
    } catch (const InputError& error) {
      const Machine& machine = plan.machines[choice.machine];
      std::string parameters;
      factory.space().each_setting(
          choice, [&](const PlanAxis&, std::string_view key, const std::string& value) {
            parameters += fmt::format("{}{}={}", parameters.empty() ? "" : " ", key, value);
          });
      list.impossible.push_back({sha256_hex(fmt::format("impossible {} {}", machine.name, parameters)),
                                 machine.name, parameters, "", error.what()});
    }
    if (found && added) found(*added);  // an error of it is not one of the design
    if (list.entries.size() * plan.traces.size() > Plan::kMostPoints) {
      throw InputError(plan.file, fmt::format("the plan asks for more than {} points", Plan::kMostPoints),
                       "vary less, or add 'at_most: N' for the first N designs");
    }
    return !plan.at_most || list.entries.size() < *plan.at_most;
  });
  if (!list.entries.empty()) return list;
  const std::string where = plan.axes.empty() ? plan.file : plan.axes.front().where;
  if (list.allowed == 0) {
    throw InputError(
        where, fmt::format("the conditions leave none of {} combinations", factory.space().combinations()),
        "relax one of them");
  }
  throw InputError(
      where,
      fmt::format("none of {} designs can be computed: {} are over the limits, {} have parameters "
                  "that do not go together",
                  list.allowed, list.over_limits, list.impossible.size()),
      list.impossible.empty() ? "relax the limits" : list.impossible.front().error);
}

}  // namespace lacuna::sweep
