// Machines and numbers of results by name, for the tests of this folder.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "sim/testing/machines.hpp"

namespace lacuna::testing {

inline std::unique_ptr<Accelerator> sparten(const Settings& settings = {}) {
  return make_machine("sparten", settings);
}

inline double action(const OpResult& result, const std::string& component, const std::string& part,
                     const std::string& name) {
  for (const ActionCount& count : result.actions) {
    if (count.component == component && count.part == part && count.action == name) return count.count;
  }
  throw std::logic_error("no action " + component + "." + part + "." + name);
}

}  // namespace lacuna::testing
