// The cost of the memory system in simulation time: the TensorDash machine with it against the same work
// without it, and memory=modelled against memory=ideal. Interleaved in one process, medians of ratios, CPU
// time.
//
//   build/release/bench/memory_bench [TRACE...]      the traces of data/ if none is given
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "sim/simulation.hpp"
#include "sim/testing/machines.hpp"
#include "sim/tile/tile_memory.hpp"

namespace lacuna {
namespace {

double cpu_seconds() { return clock_seconds(CLOCK_PROCESS_CPUTIME_ID); }

double timed(const std::function<void()>& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// One operation placed on tiles: what TileMemory needs of a simulation.
struct PlacedOp {
  const Layer* layer;
  Operation op;
  Placement placement;
};

void measure(const std::string& path) {
  const Trace trace = Trace::open(path);
  const auto ideal = testing::make_machine("tensordash", {{"memory", "ideal"}});
  const auto modelled = testing::make_machine("tensordash", {{"memory", "modelled"}});
  const TilePlan plan = TilePlan::from(ideal->params());
  const TileMemory memory(modelled->params(), plan.tile);
  std::vector<PlacedOp> ops;
  for (const Layer& layer : trace.layers()) {
    for (const Operation op : kOperations) ops.push_back({&layer, op, place_operation(layer, op, plan)});
  }
  std::int64_t sink = 0;
  const auto all = [&](const Accelerator& machine) {
    for (const PlacedOp& at : ops) sink += machine.simulate(*at.layer, at.op, {}).cycles;
  };
  std::vector<double> against_none, against_ideal;
  constexpr int kRounds = 15;
  all(*ideal);
  for (int round = 0; round < kRounds; ++round) {
    const double ideal_s = timed([&] { all(*ideal); });
    const double modelled_s = timed([&] { all(*modelled); });
    const double memory_s = timed([&] {
      for (const PlacedOp& at : ops) {
        sink += memory.time(OperationWork(*at.layer, at.op), at.placement, 0).cycles;
      }
    });
    against_none.push_back(modelled_s / (modelled_s - memory_s));
    against_ideal.push_back(modelled_s / ideal_s);
  }
  fmt::print(
      "{}: with the memory system {:.4f}x the time without it; memory=modelled {:.3f}x memory=ideal ({} "
      "ops)\n",
      path.substr(path.rfind('/') + 1), median(against_none), median(against_ideal), ops.size());
  if (sink == 0) fmt::print("\n");
}

}  // namespace
}  // namespace lacuna

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    for (const char* name : {"alexnet", "squeezenet"}) {
      paths.push_back(std::string(LACUNA_SOURCE_DIR) + "/data/" + name + "_p100.safetensors.zst");
    }
  }
  for (const std::string& path : paths) lacuna::measure(path);
}
