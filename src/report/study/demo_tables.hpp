// The machines that `lacuna demo` compares, all with the same number of multipliers, the first of them dense;
// and its tables: the zeros of a training, and machines on them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text_table.hpp"
#include "sim/run_energy.hpp"
#include "sim/simulation.hpp"
#include "sim/workload/potential.hpp"

namespace lacuna {

// A machine on a trace, simulated twice: with ideal memory and with its memory.
struct DemoMachine {
  std::string title;
  RunResult ideal, with_memory;
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

struct DemoEntry {
  std::string_view arch;
  std::string_view title;
  std::string_view setting;  // "key=value", or empty
};

inline constexpr std::int64_t kDemoMultipliers = 4096;  // 16 tiles of 4x4 PEs of 16 [TensorDash Table 2]

inline constexpr std::array kDemoMachines{
    DemoEntry{"dense", "dense", ""},
    DemoEntry{"tensordash", "TensorDash", ""},
    DemoEntry{"cnvlutin", "Cnvlutin", ""},
    DemoEntry{"structured-2of4", "2:4 weights", ""},
    DemoEntry{"sparten", "SparTen", ""},
    // Outer products of whole matrices are hopeless on linear layers; one index of the sum at a time is not.
    DemoEntry{"scnn-4096", "SCNN-like", "linear=channels"},
    DemoEntry{"ant-4096", "ANT", "linear=channels"},
};
inline constexpr std::size_t kDemoHeadline = 1;  // whose energy the last lines name

// Simulates traces on these machines.
class DemoMachines {
 public:
  DemoMachines();
  DemoPoint simulate(const Trace& trace, int threads, const std::function<void(double)>& progress);

 private:
  Simulation ideal_, with_memory_;
};

// The results of all points, of machines with their memory.
SimulationOutcome demo_outcome(const std::vector<DemoPoint>& points);

}  // namespace lacuna
