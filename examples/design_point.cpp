// Simulates one design point, TensorDash with eight rows of PEs per tile, on a trace and prints its cycles
// next to those of its baseline: the same tiles without TensorDash.
#include <cstdio>
#include <lacuna/base/error.hpp>
#include <lacuna/sim/catalog/arch_catalog.hpp>
#include <lacuna/sim/simulation.hpp>

using namespace lacuna;

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: design_point TRACE\n");
    return 2;
  }
  Machine point = ArchCatalog().find("tensordash", "design_point");
  point.params.set("rows", "8", "design_point");  // `lacuna arch show tensordash` lists the parameters

  const int threads = 2;  // the results do not depend on it
  const RunResult run = simulate_trace(Trace::open(argv[1]), *point.build(), "tensordash-8rows", {}, threads);

  std::printf("%-12s %12s %12s  speedup\n", "operation", "baseline", "cycles");
  const Totals totals = run.total();
  for (const Operation op : kOperations) {
    const CycleComparison& cycles = totals.of(op);
    std::printf("%-12s %12.0f %12.0f %8.2f\n", operation_name(op).data(), cycles.baseline_cycles,
                cycles.cycles, cycles.speedup());
  }
  std::printf("%-12s %12.0f %12.0f %8.2f\n", "all", totals.all.baseline_cycles, totals.all.cycles,
              totals.all.speedup());
} catch (const InputError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
