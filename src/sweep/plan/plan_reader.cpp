#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <set>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "energy/cost_table.hpp"
#include "sweep/plan/plan_parts.hpp"

namespace lacuna::sweep {
namespace {

class PlanReader {
 public:
  PlanReader(const YamlReader& yaml, Plan& plan, bool read_files)
      : yaml_(yaml), plan_(plan), read_files_(read_files) {}

  void read(const YAML::Node& root) {
    using Node = YAML::Node;
    // In the order in which one needs the other, not that of the file.
    const std::pair<std::string, void (PlanReader::*)(const Node& at, const Node& value)> keys[] = {
        {"machines", &PlanReader::read_machines},     {"baseline", &PlanReader::read_baseline},
        {"parameters", &PlanReader::read_parameters}, {"zip", &PlanReader::read_zips},
        {"conditions", &PlanReader::read_conditions}, {"limits", &PlanReader::read_limits},
        {"measure", &PlanReader::read_measures},      {"at_most", &PlanReader::read_at_most},
        {"strategy", &PlanReader::read_strategy},     {"seeds", &PlanReader::read_seeds},
        {"traces", &PlanReader::read_trace_list},
    };
    std::vector<std::string> names;
    for (const auto& [name, use] : keys) names.push_back(name);
    std::map<std::string, std::pair<Node, Node>> entries;
    yaml_.each(root, "the plan", [&](const std::string& key, const Node& at, const Node& value) {
      if (std::ranges::find(names, key) == names.end()) {
        yaml_.fail(at, fmt::format("unknown key {}", quote_name(key)), suggest(key, names));
      }
      entries.emplace(key, std::pair(at, value));
    });
    for (const auto& [name, use] : keys) {
      const auto entry = entries.find(name);
      if (entry != entries.end()) (this->*use)(entry->second.first, entry->second.second);
      if (plan_.machines.empty()) plan_.machines = {catalog_.find(catalog_.default_name(), plan_.file)};
    }
    if (plan_.traces.empty()) {
      throw InputError(plan_.file, "the plan has no 'traces'", "add a line 'traces: [FILE, ...]'");
    }
    if (!seeds_.empty() &&
        std::ranges::none_of(plan_.traces, [](const PlanTrace& t) { return t.synthetic.has_value(); })) {
      yaml_.fail(entries.at("seeds").first,
                 "no trace of this plan is synthetic, and recorded ones have no seed", "remove 'seeds'");
    }
  }

 private:
  // A list, or one entry in place of a list of one.
  template <typename Use>
  void each_of(const YAML::Node& at, std::string_view key, const YAML::Node& value, const Use& use) const {
    if (value.IsScalar() || value.IsMap()) return use(value);
    if (!value.IsSequence() || value.size() == 0) {
      yaml_.fail(at, fmt::format("{} has no entries", quote_name(key)), "write a list: [ONE, TWO]");
    }
    if (value.size() > kMostEntries)
      yaml_.fail(at, fmt::format("{} has more than {} entries", quote_name(key), kMostEntries),
                 "leave some out");
    for (const YAML::Node& entry : value) use(entry);
  }

  // NAME, or {config: FILE}; nothing if files are not read.
  std::optional<Machine> read_machine(const YAML::Node& entry, const std::string& key) const {
    if (!entry.IsMap()) return catalog_.find(yaml_.text(entry, key, entry), yaml_.place(entry));
    std::string file;
    yaml_.each(
        entry, "a machine", [&](const std::string& name, const YAML::Node& name_at, const YAML::Node& value) {
          if (name != "config")
            yaml_.fail(name_at, fmt::format("unknown key {}", quote_name(name)), suggest(name, {"config"}));
          file = yaml_.text(name_at, name, value);
        });
    if (!read_files_) return std::nullopt;
    return catalog_.load((std::filesystem::path(plan_.file).parent_path() / file).string());
  }

  void read_baseline(const YAML::Node&, const YAML::Node& value) {
    plan_.baseline = read_machine(value, "baseline");
  }

  void read_machines(const YAML::Node& at, const YAML::Node& value) {
    each_of(at, "machines", value, [&](const YAML::Node& entry) {
      std::optional<Machine> machine = read_machine(entry, "machines");
      if (!machine) return;
      if (std::ranges::find(plan_.machines, machine->name, &Machine::name) != plan_.machines.end()) {
        yaml_.fail(entry, fmt::format("the machine {} is there twice", quote_name(machine->name)),
                   "remove one, or give its file a line 'name: NAME'");
      }
      plan_.machines.push_back(std::move(*machine));
    });
  }

  std::vector<std::string> all_parameters() const {
    std::vector<std::string> names{std::string(kEnergyTable), std::string(kNode)};
    for (const Machine& machine : plan_.machines) {
      for (const ParamSpec& spec : machine.params.specs()) {
        if (std::ranges::find(names, spec.name) == names.end()) names.push_back(spec.name);
      }
    }
    return names;
  }

  // The machines that have a parameter of this name.
  std::vector<const Machine*> owners(const std::string& name, const std::string& where) const {
    const auto [owner, key] = split_name(name);
    std::vector<const Machine*> found;
    std::vector<std::string> names;
    for (const Machine& machine : plan_.machines) {
      names.push_back(machine.name);
      if ((owner.empty() || machine.name == owner) && machine.params.has(key)) found.push_back(&machine);
    }
    if (!owner.empty() && std::ranges::find(names, owner) == names.end()) {
      throw InputError(where, fmt::format("{} is not one of the plan's machines", quote_name(owner)),
                       suggest(owner, names));
    }
    if (found.empty()) {
      throw InputError(where, fmt::format("no machine of this plan has a parameter {}", quote_name(key)),
                       suggest(key, all_parameters()));
    }
    return found;
  }

  // The value as the program takes it.
  std::string checked(const std::string& name, const PlanValue& value) const {
    if (name == kEnergyTable) return cost_table(value);
    if (name == kNode) {
      const auto node = parse_number<std::int64_t>(value.text);
      if (!node || *node < 1 || *node > 10000) {
        throw InputError(value.where, fmt::format("{} is not a node in nanometres", quote_name(value.text)),
                         "write for example 65");
      }
      return value.text;
    }
    for (const Machine* machine : owners(name, value.where)) {
      // A copy takes longer than trying thousands of values.
      Params& params = tried_.try_emplace(machine->name, machine->params).first->second;
      params.set(split_name(name).key, value.text, value.where);
    }
    return value.text;
  }

  // A built-in table, or a file next to the plan.
  std::string cost_table(const PlanValue& value) const {
    const std::vector<std::string> built_in = CostTable::built_in();
    if (!read_files_ || std::ranges::find(built_in, value.text) != built_in.end()) return value.text;
    std::string file = (std::filesystem::path(plan_.file).parent_path() / value.text).string();
    CostTable::open(std::filesystem::exists(file) ? file : value.text, value.where);
    return file;
  }

  void add_name(PlanAxis& axis, const YAML::Node& at, const std::string& name) {
    const std::string where = yaml_.place(at);
    if (name != kEnergyTable && name != kNode) owners(name, where);
    const auto [owner, key] = split_name(name);
    for (const PlanAxis& other : plan_.axes) {
      for (const std::string& taken : other.names) {
        const auto [taken_owner, taken_key] = split_name(taken);
        const bool both_named = !owner.empty() && !taken_owner.empty();
        if (name == taken || (!both_named && key == taken_key)) {
          throw InputError(where, fmt::format("{} varies twice", quote_name(key)),
                           fmt::format("see {}", other.where));
        }
      }
    }
    axis.names.push_back(name);
  }

  void read_parameters(const YAML::Node&, const YAML::Node& value) {
    yaml_.each(value, "'parameters'",
               [&](const std::string& name, const YAML::Node& at, const YAML::Node& values) {
                 PlanAxis axis{{}, {}, yaml_.place(at)};
                 add_name(axis, at, name);
                 for (const PlanValue& one : read_values(yaml_, name, at, values)) {
                   axis.values.push_back({checked(name, one)});
                 }
                 plan_.axes.push_back(std::move(axis));
               });
  }

  void read_zips(const YAML::Node& at, const YAML::Node& value) {
    each_of(at, "zip", value, [&](const YAML::Node& entry) {
      PlanAxis axis{{}, {}, yaml_.place(entry)};
      yaml_.each(entry, "a zip",
                 [&](const std::string& name, const YAML::Node& name_at, const YAML::Node& values) {
                   const std::vector<PlanValue> all = read_values(yaml_, name, name_at, values, true);
                   if (!axis.names.empty() && all.size() != axis.values.size()) {
                     yaml_.fail(name_at,
                                fmt::format("{} has {} values, {} has {}", quote_name(name), all.size(),
                                            quote_name(axis.names.front()), axis.values.size()),
                                "give both as many");
                   }
                   axis.values.resize(all.size());
                   add_name(axis, name_at, name);
                   for (std::size_t i = 0; i < all.size(); ++i) {
                     axis.values[i].push_back(checked(name, all[i]));
                   }
                 });
      if (axis.names.empty()) yaml_.fail(entry, "a zip is empty", "write {rows: [2, 4], columns: [8, 4]}");
      plan_.axes.push_back(std::move(axis));
    });
  }

  void read_expressions(const YAML::Node& at, const YAML::Node& value, std::vector<Expression>& target,
                        const std::vector<std::string>& more_names) {
    std::vector<std::string> known = all_parameters();
    known.push_back("machine");
    known.insert(known.end(), more_names.begin(), more_names.end());
    each_of(at, "conditions", value, [&](const YAML::Node& entry) {
      Expression expression = Expression::parse(yaml_.text(entry, "a condition", entry), yaml_.place(entry));
      for (const Expression::Name& name : expression.names()) {
        if (std::ranges::find(known, name.name) == known.end()) expression.unknown_name(name, known);
      }
      target.push_back(std::move(expression));
    });
  }

  void read_conditions(const YAML::Node& at, const YAML::Node& value) {
    read_expressions(at, value, plan_.conditions, {});
  }
  void read_limits(const YAML::Node& at, const YAML::Node& value) {
    read_expressions(at, value, plan_.limits, known_before());
  }

  void read_measures(const YAML::Node& at, const YAML::Node& value) {
    plan_.measures = measures_of(Measure::kCycles);
    const std::vector<std::string> names(kMeasureNames.begin(), kMeasureNames.end());
    each_of(at, "measure", value, [&](const YAML::Node& entry) {
      const std::string name = yaml_.text(entry, "measure", entry);
      const auto found = std::ranges::find(names, name);
      if (found == names.end())
        yaml_.fail(entry, fmt::format("nothing is called {}", quote_name(name)), suggest(name, names));
      plan_.measures |= 1U << static_cast<unsigned>(found - names.begin());
    });
  }

  void read_strategy(const YAML::Node& at, const YAML::Node& value) {
    plan_.strategy.where = yaml_.place(at);
    if (value.IsScalar()) {
      plan_.strategy.name = yaml_.text(at, "strategy", value);
      return;
    }
    yaml_.each(value, "'strategy'",
               [&](const std::string& key, const YAML::Node& key_at, const YAML::Node& setting) {
                 const std::vector<PlanValue> words = read_values(yaml_, key, key_at, setting);
                 std::string text;
                 for (const PlanValue& word : words) text += (text.empty() ? "" : ",") + word.text;
                 (key == "name" ? plan_.strategy.name : plan_.strategy.settings[key]) = text;
               });
  }

  void read_at_most(const YAML::Node& at, const YAML::Node& value) {
    plan_.at_most = parse_number<std::uint64_t>(yaml_.text(at, "at_most", value));
    if (plan_.at_most && *plan_.at_most >= 1 && *plan_.at_most <= Plan::kMostPoints) return;
    yaml_.fail(value, fmt::format("'at_most' is not a whole number from 1 to {}", Plan::kMostPoints),
               "correct it");
  }

  void read_seeds(const YAML::Node& at, const YAML::Node& value) {
    for (const PlanValue& one : read_values(yaml_, "seeds", at, value)) {
      const auto seed = parse_number<std::uint64_t>(one.text);
      if (!seed)
        throw InputError(one.where, fmt::format("{} is not a seed", quote_name(one.text)),
                         "write whole numbers from 0");
      seeds_.push_back(*seed);
    }
  }

  void read_trace_list(const YAML::Node& at, const YAML::Node& value) {
    plan_.traces = read_traces(yaml_, read_files_, at, value, seeds_);
  }

  static constexpr std::size_t kMostEntries = 100;

  const YamlReader& yaml_;
  Plan& plan_;
  bool read_files_;
  ArchCatalog catalog_;
  std::vector<std::uint64_t> seeds_;
  mutable std::map<std::string, Params> tried_;  // of each machine, for checking values
};

}  // namespace

const std::vector<std::string>& known_before() {
  static const std::vector<std::string> names{"area_mm2", "compute_area_mm2", "area_ratio", "multipliers"};
  return names;
}

AxisName split_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

Plan Plan::parse(std::string_view yaml, const std::string& file, bool read_files) {
  Plan plan;
  plan.file = file;
  plan.text = yaml;
  const YamlReader reader(file, "", YamlReader::Places::kColumns);
  reader.load(yaml, {"a plan of a sweep", "start with 'traces: [FILE, ...]'; see docs/sweep.md"},
              [&](const YAML::Node& root) {
                PlanReader(reader, plan, read_files).read(root);
                return 0;
              });
  return plan;
}

Plan Plan::load(const std::string& file) { return parse(read_yaml_file(file), file); }

std::vector<std::string> Plan::varied_parameters() const {
  std::set<std::string> names;
  for (const PlanAxis& axis : axes) {
    if (axis.values.size() < 2) continue;
    for (const std::string& name : axis.names) {
      if (name != kEnergyTable && name != kNode) names.emplace(split_name(name).key);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace lacuna::sweep
