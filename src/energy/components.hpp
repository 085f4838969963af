// Components of a machine and counts of their actions, as its model states them: the vocabulary between the
// models, which count, and the cost tables, which price. Whoever adds a machine declares its components here
// and edits neither the energy code nor any printer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lacuna {

// The three columns of TensorDash's Fig. 16.
enum class ComponentGroup {
  kCore,  // logic: what Table 3 of TensorDash calls "compute"
  kSram,  // on-chip memory
  kDram,  // off-chip memory
};

// Hardware that cost tables price under this name: "mac", "sram". Several components may hold the same part.
struct Part {
  std::string name;
  // Number of them, in the unit that the table prices an area for; 0 if their area is not modelled.
  double units = 0;
  // Actions that the model counts, each with a cost in the table: "read", "write". Two have a meaning here: a
  // `cycle` is a cycle in which one unit is clocked, so it also gives the peak power; `static` is counted in
  // seconds, for each unit.
  std::vector<std::string> actions;
};

// A line of a result: energy, power or area of some parts together.
struct Component {
  std::string name;   // as in JSON and CSV: "schedulers_and_b_muxes"
  std::string title;  // for tables: "schedulers and B muxes"
  ComponentGroup group = ComponentGroup::kCore;
  std::vector<Part> parts;
};

// A size of a design, which follows from its parameters: what may differ between two designs besides their
// parts. docs/configuration.md lists how each scales; a test holds the models to it.
struct DesignTotal {
  std::string name;   // "sram_values"
  std::string title;  // as part of a sentence, after "half the": "on-chip memory"; empty: not compared
  double value = 0;
};

struct Hardware {
  std::string description;  // "16 tiles of 4 x 4 PEs of 16 MACs"
  std::string data_type;    // that it computes in: "fp32"
  double frequency_mhz = 0;
  std::vector<Component> components;     // in the order of results
  std::vector<DesignTotal> totals = {};  // those with a title are compared between designs
  // Parts on the chip take power although nothing happens in them: `static` is one of their actions.
  bool static_power = false;
  // The built-in cost table that prices its areas; empty: the one of the data type.
  std::string area_table = {};
  // Why its area is not known ("no area of such a PE is published") and what to do; empty if it is.
  std::string area_unknown = {};
  std::string area_remedy = {};

  double total(std::string_view name) const;  // of that name; 0 if there is none
  // Whether the power of a part is counted while nothing happens: `static_power`, and how many there are.
  bool is_powered(const Component& component, const Part& part) const;
};

// `count` times an action of a part: {"sram", "sram", "read", 1024}.
struct ActionCount {
  std::string component;
  std::string part;
  std::string action;
  double count = 0;
  bool operator==(const ActionCount&) const = default;
};

// One value per component: joules, watts or mm2. Their sum is the machine's and nothing else is in it.
struct ByComponent {
  struct Value {
    std::string name;
    std::string title;
    ComponentGroup group = ComponentGroup::kCore;
    double value = 0;
    bool operator==(const Value&) const = default;
  };
  std::vector<Value> values;

  const Value* find(std::string_view component) const;
  double of(std::string_view component) const;  // 0 if there is no such component
  double total() const;
  double group(ComponentGroup group) const;
  double compute() const { return group(ComponentGroup::kCore); }
  // Adds component by component; one that is not there yet is appended.
  ByComponent& operator+=(const ByComponent& other);
  bool operator==(const ByComponent&) const = default;
};

}  // namespace lacuna
