// A choice of a plan as a machine that is built, priced and identified by its content.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "energy/cost_table.hpp"
#include "sim/simulation.hpp"
#include "sweep/plan/design_space.hpp"
#include "sweep/store/database.hpp"

namespace lacuna::sweep {

// This program, as files of results name it.
ProgramRecord this_program();

struct Design {
  DesignRecord record;
  std::shared_ptr<const Accelerator> machine;
  // Prices its energy; null where the machine or its baseline declares no hardware, or the plan does not ask.
  std::shared_ptr<const CostTable> table;
};

// The key of a design on a trace.
std::string point_key(const std::string& design_key, const std::string& trace_sha256);

// Builds designs, from any thread; cost tables are read once.
class DesignFactory {
 public:
  explicit DesignFactory(const DesignSpace& space);

  const DesignSpace& space() const { return space_; }
  // Throws InputError for parameters that do not go together, or costs that do not fit.
  Design make(const Choice& choice);
  // Machines of designs to add to, with the plan's baseline.
  Simulation simulation() const;
  // Returns true if the plan's limits hold.
  bool within_limits(const Choice& choice, const Design& design) const;

 private:
  std::shared_ptr<const CostTable> table(const std::string& name, int node, const Hardware& hardware,
                                         bool area);
  std::string table_identity(const std::string& name);

  const DesignSpace& space_;
  ProgramRecord program_;
  std::shared_ptr<const Accelerator> baseline_;  // the plan's
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const CostTable>> tables_;
  std::map<std::string, std::string> identities_;  // of tables in files: their SHA-256
};

// All designs of a plan.
struct DesignList {
  struct Entry {
    Choice choice;
    std::string key;
    std::string sharing;  // Accelerator::sharing_key()
  };
  std::vector<Entry> entries;
  std::vector<FailureRecord> impossible;  // parameters that do not go together
  std::uint64_t allowed = 0;              // by the conditions
  std::uint64_t over_limits = 0;
};
// Calls found() for each design as it is listed. Throws InputError if nothing is left, or there are too many.
DesignList list_designs(DesignFactory& factory, const std::function<void(const DesignRecord&)>& found = {});

}  // namespace lacuna::sweep
