// Tables of `lacuna demo`: the zeros of a training, and machines on them.
#pragma once

#include <string>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/run_energy.hpp"
#include "sim/workload/potential.hpp"

namespace lacuna {

// A machine on a trace. Machines whose whole memory system is modelled are simulated twice: with ideal
// memory, as every machine is, and with that memory.
struct DemoMachine {
  std::string title;
  RunResult ideal;
  std::optional<RunResult> with_memory;
  std::optional<RunEnergy> energy;
};

// One recorded step on every machine; the first machine is the dense one.
struct DemoPoint {
  double progress = 0;
  TracePotential potential;
  std::vector<DemoMachine> machines;
};

// Returns the cycles of a whole batch with ideal memory. The baseline of each machine is the dense one of as
// many multipliers.
CycleComparison demo_cycles(const DemoMachine& machine);
// "1.84x"
std::string times_text(double speedup);

std::string zeros_table(const DemoPoint& point, const TextStyle& style);
std::string machines_table(const DemoPoint& point, std::int64_t multipliers, const TextStyle& style);
std::string progress_table(const std::vector<DemoPoint>& points, const TextStyle& style);

}  // namespace lacuna
