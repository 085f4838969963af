#include <algorithm>
#include <fmt/format.h>

#include "base/text/nearest.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/quote.hpp"
#include "energy/cost_table.hpp"
#include "sweep/plan/plan.hpp"
#include "sweep/plan/plan_traces.hpp"
#include "sweep/plan/plan_values.hpp"

namespace lacuna::sweep {
namespace {

const std::vector<std::string> kKeys{"traces", "machines", "parameters", "zip",     "conditions",
                                     "limits", "seeds",    "measure",    "at_most", "strategy"};

class PlanReader {
 public:
  PlanReader(const YamlReader& yaml, Plan& plan, bool read_files)
      : yaml_(yaml), plan_(plan), traces_(yaml, read_files), read_files_(read_files) {}

  void read(const YAML::Node& root) {
    std::map<std::string, std::pair<YAML::Node, YAML::Node>> entries;
    yaml_.each(root, "the plan", [&](const std::string& key, const YAML::Node& at, const YAML::Node& value) {
      if (std::ranges::find(kKeys, key) == kKeys.end()) {
        yaml_.fail(at, fmt::format("unknown key {}", quote_name(key)), suggest(key, kKeys));
      }
      entries.emplace(key, std::pair(at, value));
    });
    // In the order in which one needs the other, not that of the file.
    const auto with = [&](const std::string& key, const auto& use) {
      const auto at = entries.find(key);
      if (at != entries.end()) use(at->second.first, at->second.second);
    };
    with("machines", [&](const auto& at, const auto& value) { read_machines(at, value); });
    if (plan_.machines.empty()) {
      plan_.machines.push_back(catalog_.find(catalog_.default_name(), plan_.file));
    }
    with("parameters", [&](const auto&, const auto& value) { read_parameters(value); });
    with("zip", [&](const auto& at, const auto& value) { read_zips(at, value); });
    with("conditions",
         [&](const auto& at, const auto& value) { read_expressions(at, value, plan_.conditions, {}); });
    with("limits", [&](const auto& at, const auto& value) {
      read_expressions(at, value, plan_.limits, known_before());
    });
    with("measure", [&](const auto& at, const auto& value) { read_measures(at, value); });
    with("at_most", [&](const auto& at, const auto& value) {
      plan_.at_most = whole(at, "at_most", value, 1, Plan::kMostPoints);
    });
    with("strategy", [&](const auto& at, const auto& value) { read_strategy(at, value); });
    std::vector<std::uint64_t> seeds;
    with("seeds", [&](const auto& at, const auto& value) {
      for (const PlanValue& seed : read_values(yaml_, "seeds", at, value)) seeds.push_back(seed_of(seed));
    });
    if (!entries.contains("traces")) {
      throw InputError(plan_.file, "the plan has no 'traces'", "add a line 'traces: [FILE, ...]'");
    }
    with("traces", [&](const auto& at, const auto& value) { plan_.traces = traces_.read(at, value, seeds); });
    if (!seeds.empty() &&
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
    for (std::size_t i = 0; i < value.size(); ++i) use(value[i]);
  }

  void read_machines(const YAML::Node& at, const YAML::Node& value) {
    each_of(at, "machines", value, [&](const YAML::Node& entry) {
      Machine machine;
      if (entry.IsMap()) {
        std::string file;
        yaml_.each(entry, "a machine",
                   [&](const std::string& key, const YAML::Node& key_at, const YAML::Node& name) {
                     if (key != "config")
                       yaml_.fail(key_at, fmt::format("unknown key {}", quote_name(key)),
                                  suggest(key, {"config"}));
                     file = yaml_.text(key_at, key, name);
                   });
        if (!read_files_) return;
        machine = catalog_.load((std::filesystem::path(plan_.file).parent_path() / file).string());
      } else {
        machine = catalog_.find(yaml_.text(entry, "machines", entry), yaml_.place(entry));
      }
      if (std::ranges::find(plan_.machines, machine.name, &Machine::name) != plan_.machines.end()) {
        yaml_.fail(entry, fmt::format("the machine {} is there twice", quote_name(machine.name)),
                   "remove one, or give its file a line 'name: NAME'");
      }
      plan_.machines.push_back(std::move(machine));
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

  // Which machines a name is a parameter of.
  std::vector<const Machine*> owners(const std::string& name, const std::string& where) const {
    const std::size_t dot = name.rfind('.');
    const std::string key = dot == std::string::npos ? name : name.substr(dot + 1);
    std::vector<const Machine*> found;
    std::vector<std::string> names;
    for (const Machine& machine : plan_.machines) {
      names.push_back(machine.name);
      if ((dot == std::string::npos || machine.name == name.substr(0, dot)) && machine.params.has(key)) {
        found.push_back(&machine);
      }
    }
    if (dot != std::string::npos && std::ranges::find(names, name.substr(0, dot)) == names.end()) {
      throw InputError(where,
                       fmt::format("{} is not one of the plan's machines", quote_name(name.substr(0, dot))),
                       suggest(name.substr(0, dot), names));
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
    check_value(name, value);
    return value.text;
  }

  // A built-in table, or a file beside the plan.
  std::string cost_table(const PlanValue& value) const {
    const std::vector<std::string> built_in = CostTable::built_in();
    if (!read_files_ || std::ranges::find(built_in, value.text) != built_in.end()) return value.text;
    std::string file = (std::filesystem::path(plan_.file).parent_path() / value.text).string();
    CostTable::open(std::filesystem::exists(file) ? file : value.text, value.where);
    return file;
  }

  void check_value(const std::string& name, const PlanValue& value) const {
    if (name == kNode) {
      const auto node = parse_number<std::int64_t>(value.text);
      if (!node || *node < 1 || *node > 10000) {
        throw InputError(value.where, fmt::format("{} is not a node in nanometres", quote_name(value.text)),
                         "write for example 65");
      }
      return;
    }
    const std::size_t dot = name.rfind('.');
    for (const Machine* machine : owners(name, value.where)) {
      // A copy takes longer than trying thousands of values.
      Params& params = tried_.try_emplace(machine->name, machine->params).first->second;
      params.set(dot == std::string::npos ? name : name.substr(dot + 1), value.text, value.where);
    }
  }

  void add_name(PlanAxis& axis, const YAML::Node& at, const std::string& name) {
    const std::string where = yaml_.place(at);
    if (name != kEnergyTable && name != kNode) owners(name, where);
    const auto last = [](const std::string& of) {
      return of.substr(of.rfind('.') == std::string::npos ? 0 : of.rfind('.') + 1);
    };
    for (const PlanAxis& other : plan_.axes) {
      for (const std::string& taken : other.names) {
        const bool both_named = name.find('.') != std::string::npos && taken.find('.') != std::string::npos;
        if (name == taken || (!both_named && last(name) == last(taken))) {
          throw InputError(where, fmt::format("{} varies twice", quote_name(last(name))),
                           fmt::format("see {}", other.where));
        }
      }
    }
    axis.names.push_back(name);
  }

  void read_parameters(const YAML::Node& value) {
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

  void read_measures(const YAML::Node& at, const YAML::Node& value) {
    plan_.measures = measures_of(Measure::kCycles);
    std::vector<std::string> names;
    for (const Measure measure : kMeasures) names.emplace_back(measure_name(measure));
    each_of(at, "measure", value, [&](const YAML::Node& entry) {
      const std::string name = yaml_.text(entry, "measure", entry);
      const auto found = std::ranges::find(names, name);
      if (found == names.end())
        yaml_.fail(entry, fmt::format("nothing is called {}", quote_name(name)), suggest(name, names));
      plan_.measures |= measures_of(kMeasures[static_cast<std::size_t>(found - names.begin())]);
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

  std::uint64_t whole(const YAML::Node& at, std::string_view key, const YAML::Node& value,
                      std::uint64_t least, std::uint64_t most) const {
    const auto number = parse_number<std::uint64_t>(yaml_.text(at, key, value));
    if (!number || *number < least || *number > most) {
      yaml_.fail(value, fmt::format("{} is not a whole number from {} to {}", quote_name(key), least, most),
                 "correct it");
    }
    return *number;
  }

  static std::uint64_t seed_of(const PlanValue& value) {
    const auto seed = parse_number<std::uint64_t>(value.text);
    if (!seed)
      throw InputError(value.where, fmt::format("{} is not a seed", quote_name(value.text)),
                       "write whole numbers from 0");
    return *seed;
  }

  static constexpr std::size_t kMostEntries = 100;

  const YamlReader& yaml_;
  Plan& plan_;
  PlanTraces traces_;
  bool read_files_;
  ArchCatalog catalog_;
  mutable std::map<std::string, Params> tried_;  // of each machine, for checking values
};

}  // namespace

const std::vector<std::string>& known_before() {
  static const std::vector<std::string> names{"area_mm2", "compute_area_mm2", "area_ratio", "peak_watts",
                                              "multipliers"};
  return names;
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
  std::vector<std::string> names;
  for (const PlanAxis& axis : axes) {
    if (axis.values.size() < 2) continue;
    for (const std::string& name : axis.names) {
      const std::size_t dot = name.rfind('.');
      names.push_back(dot == std::string::npos ? name : name.substr(dot + 1));
    }
  }
  std::erase_if(names, [](const std::string& name) { return name == kEnergyTable || name == kNode; });
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace lacuna::sweep
