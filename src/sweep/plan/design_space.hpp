// The combinations of a plan, without making a list of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sweep/plan/plan.hpp"

namespace lacuna::sweep {

// A machine, and which value of each axis it takes: 0 for axes that have nothing to say about it.
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
  // Whether an axis changes the machine or its price.
  bool applies(std::uint32_t machine, std::size_t axis) const { return applies_[machine][axis]; }
  // Allowed or not; the largest 64-bit number if there are more.
  std::uint64_t combinations() const;

  // Whether the plan's conditions hold. A condition on parameters that a machine does not have says nothing
  // about it.
  bool allowed(const Choice& choice) const;
  // What a name of an expression stands for; missing if the machine has no such parameter.
  Value value(const Choice& choice, const std::string& name) const;

  Machine machine(const Choice& choice) const;
  std::string energy_table(const Choice& choice) const;  // empty: the machine's own
  int node(const Choice& choice) const;                  // 0: the table's own

  // Calls use() for each allowed choice in a fixed order, the last axis fastest, until it gives false.
  // Throws InputError if there are more than Plan::kMostCombinations to look at and the plan has no
  // at_most.
  void for_each(const std::function<bool(const Choice&)>& use) const;

 private:
  // The text that the plan has for a parameter; null if it says nothing about it.
  const std::string* planned(const Choice& choice, std::string_view key) const;

  const Plan& plan_;
  std::vector<std::vector<bool>> applies_;  // [machine][axis]
};

}  // namespace lacuna::sweep
