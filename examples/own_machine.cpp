// Writes a machine outside Lacuna and registers it: as many MACs as the dense tiles have, which skip every
// zero of one operand and are never idle. Prints its speedup and how much less energy its logic takes.
#include <cstdio>
#include <lacuna/sim/catalog/arch_catalog.hpp>
#include <lacuna/sim/run_energy.hpp>
#include <lacuna/sim/simulation.hpp>
using namespace lacuna;

struct Ideal final : Accelerator {
  static constexpr std::int64_t kMacs = 4096;
  const Params none{"ideal", {}};
  const Params& params() const override { return none; }
  std::optional<BaselineSpec> baseline() const override { return BaselineSpec{"dense", {}}; }
  std::optional<Hardware> hardware() const override {
    const Part macs{"mac", kMacs, {"cycle"}};  // the built-in cost tables price a cycle of a "mac"
    return Hardware{"4096 MACs", "fp32", 500, {{"cores", "compute cores", ComponentGroup::kCore, {macs}}}};
  }
  OpResult simulate(const OperationWork& work, const SimOptions&) const override {
    const std::int64_t cycles = (work.macs.with_primary + kMacs - 1) / kMacs;
    return {.op = work.op,
            .scheduled = operands(work.op).primary,
            .macs = work.macs.macs,
            .scheduled_macs = work.macs.with_primary,
            .effectual_macs = work.macs.effectual,
            .cycles = cycles,
            .counters = {},
            .actions = {{"cores", "mac", "cycle", static_cast<double>(cycles * kMacs) * work.batch_scale}}};
  }
};
const auto make = [](const Params&) { return std::make_unique<Ideal>(); };
const RegisterAccelerator kRegister{
    {.name = "ideal", .summary = "skips every zero of one operand", .paper = "", .params = {}, .make = make}};

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: own_machine TRACE\n", stderr), 2;
  const Machine ideal = ArchCatalog().find("ideal", "own_machine");  // by name, like any other machine
  const RunResult run = simulate_trace(Trace::open(argv[1]), *ideal.build(), "ideal", {}, /*threads=*/1);
  const double efficiency = run_energy(run, CostTable::of_data_type("fp32")).all.compute_efficiency();
  std::printf("speedup %.2f, compute efficiency %.2f\n", run.per_batch().all.speedup(), efficiency);
}
