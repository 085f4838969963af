// Writes a file of results with made-up designs, for tests of what reads one: sweep_fixture FILE DESIGNS
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

#include "base/random.hpp"
#include "sweep/testing/records.hpp"

namespace {

using lacuna::Random;
using namespace lacuna::sweep;

struct Machine {
  const char* name;
  double speed;
  double area;
};
constexpr Machine kMachines[] = {{"tensordash", 1.9, 1.1}, {"ant", 2.4, 1.5}, {"cnvlutin", 1.4, 1.05}};
constexpr const char* kNetworks[] = {"alexnet", "resnet50", "vgg16", "bert"};
constexpr int kSizes[] = {2, 4, 8, 16, 32};
constexpr int kTiles[] = {1, 2, 4, 8, 16};

int pick(Random& random, const int (&values)[5]) { return values[random.integer(0, 4)]; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Random random(1);
  std::vector<TraceRecord> traces;
  for (const char* network : kNetworks) {
    TraceRecord trace = test_trace(0);
    trace.sha256 = network;
    trace.name = fmt::format("{}_p100", network);
    trace.network = network;
    traces.push_back(trace);
  }
  std::vector<DesignRecord> designs;
  std::vector<PointRecord> points;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    const Machine& machine = kMachines[random.integer(0, 2)];
    const int rows = pick(random, kSizes);
    const int columns = pick(random, kSizes);
    const int tiles = pick(random, kTiles);
    const int depth = static_cast<int>(random.integer(2, 5));
    const bool gated = random.chance(0.5);
    const bool deep = std::string_view(machine.name) != "cnvlutin";  // has a depth
    DesignRecord design = test_design(0);
    design.key = fmt::format("design {}", i);
    design.machine = design.model = machine.name;
    design.configuration =
        fmt::format(R"({{"rows": {}, "columns": {}, "tiles": {}, "power_gating": {}{}}})", rows, columns,
                    tiles, gated, deep ? fmt::format(R"(, "depth": {})", depth) : "");
    design.parameters =
        fmt::format("rows={} columns={} tiles={}{}{}", rows, columns, tiles, gated ? " power_gating=on" : "",
                    deep ? fmt::format(" depth={}", depth) : "");
    const double units = rows * columns * tiles;
    design.area_mm2 = machine.area * (4 + 0.03 * units + (deep ? 0.004 * depth * units : 0));
    design.baseline_area_mm2 = 4 + 0.03 * units;
    designs.push_back(design);
    for (int j = 0; j < 4; ++j) {
      PointRecord point = test_point(0, 0);
      point.key = fmt::format("{} on {}", design.key, kNetworks[j]);
      point.design = design.key;
      point.trace = kNetworks[j];
      const double zeros = machine.speed * (1 + (deep ? 0.12 * (depth - 2) : 0)) *
                           (1 - 0.02 * std::log2(rows)) * (1 + 0.1 * j) * (0.96 + 0.08 * random.uniform());
      const double baseline = 4e9 * (j + 1) / std::pow(units, 0.85);
      set_cycles(point, baseline / zeros, baseline);
      const double joules = 2.0 * (j + 1) * (1 + 0.001 * units);
      set_energy(point, joules / (0.8 * zeros) * (gated ? 0.93 : 1), joules);
      points.push_back(std::move(point));
    }
  }
  Database database(argv[1], test_program());
  database.add_parameters({"rows", "columns", "tiles", "depth", "power_gating"});
  database.add_traces(traces);
  database.add_designs(designs);
  database.add(points);
  return 0;
}
