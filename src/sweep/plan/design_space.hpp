// The combinations of a plan, without making a list of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

// A machine, and the index of its value of each axis: 0 for axes that do not apply to it.
struct Choice {
  std::uint32_t machine = 0;
  std::vector<std::uint32_t> values;  // one per axis of the plan
  bool operator==(const Choice&) const = default;
};

class DesignSpace {
 public:
  // The plan must outlive it.
  explicit DesignSpace(const Plan& plan);

  const Plan& plan() const { return plan_; }
  // Returns true if an axis changes the machine or its price.
  bool applies(std::uint32_t machine, std::size_t axis) const { return applies_[machine][axis]; }
  // Allowed or not; the largest 64-bit number if there are more.
  std::uint64_t combinations() const;

  // Returns true if the plan's conditions hold. A condition on parameters that a machine does not have does
  // not apply to it.
  bool allowed(const Choice& choice) const;
  // The value of a name in an expression; missing if the machine has no such parameter.
  Value value(const Choice& choice, const std::string& name) const;

  Machine machine(const Choice& choice) const;
  // The value of a parameter that all designs have; empty if they differ.
  std::string shared(std::string_view key) const;
  std::string energy_table(const Choice& choice) const;  // empty: the machine's own
  int node(const Choice& choice) const;                  // 0: the table's own

  // Calls use() for each value that the plan gives the machine, or its price.
  void each_setting(
      const Choice& choice,
      const std::function<void(const PlanAxis&, std::string_view key, const std::string& value)>& use) const;

  // Calls use() for each allowed choice in a fixed order, the last axis fastest, until it gives false.
  // Throws InputError if there are more than Plan::kMostCombinations to examine and the plan has no
  // at_most.
  void for_each(const std::function<bool(const Choice&)>& use) const;

 private:
  // The plan's text for a parameter; empty if it has none.
  std::string planned(const Choice& choice, std::string_view key) const;

  const Plan& plan_;
  std::vector<std::vector<bool>> applies_;  // [machine][axis]
};

}  // namespace lacuna::sweep
