// Small records with numbers that are easy to foresee, for tests.
#pragma once

#include <array>
#include <fmt/format.h>

#include "sweep/store/database.hpp"

namespace lacuna::sweep {

inline ProgramRecord test_program() { return {"0.1.0", 1, "A1: assumed"}; }

inline TraceRecord test_trace(int i) {
  return {.sha256 = fmt::format("trace{}", i),
          .name = fmt::format("net{}_p100", i),
          .network = fmt::format("net{}", i),
          .origin = fmt::format("data/net{}.safetensors", i),
          .progress = 1,
          .batch = 64,
          .layers = {{"conv1", "1x3x8x8", 32, 1000}}};
}

// Design i: rows = i + 1, an area of 10 (i + 1) mm2.
inline DesignRecord test_design(int i) {
  DesignRecord design{.key = fmt::format("design{}", i),
                      .machine = "tensordash",
                      .model = "tensordash",
                      .configuration = fmt::format(R"({{"rows": {}, "memory": "ideal"}})", i + 1),
                      .parameters = fmt::format("rows={}", i + 1),
                      .baseline = "dense",
                      .baseline_configuration = "{}",
                      .energy_table = "65nm-fp32",
                      .node_nm = 65,
                      .frequency_mhz = 500};
  design.area_mm2 = 10.0 * (i + 1);
  design.baseline_area_mm2 = 9.0 * (i + 1);
  return design;
}

// Design i on trace j: (i + 1) times as fast as its baseline.
inline PointRecord test_point(int i, int j) {
  PointRecord point{.key = fmt::format("point{}.{}", i, j),
                    .design = fmt::format("design{}", i),
                    .trace = fmt::format("trace{}", j)};
  point.baseline_cycles = 32 * 840;
  point.cycles = point.baseline_cycles / (i + 1);
  point.cycles_without_zeros = point.baseline_cycles;
  point.seconds = point.cycles / 500e6;
  point.baseline_seconds = point.baseline_cycles / 500e6;
  point.energy_joules = 2.0 / (i + 1);
  point.baseline_energy_joules = 2;
  point.operations = {{.layer = 0,
                       .operation = 0,
                       .scheduled_macs = 500,
                       .effectual_macs = 250,
                       .cycles = 840 / (i + 1),
                       .baseline_cycles = 840,
                       .cycles_without_zeros = 840}};
  return point;
}

inline void fill_with_points(Database& database, int designs, int traces) {
  database.add_parameters({"rows"});
  for (int j = 0; j < traces; ++j) database.add_traces(std::array{test_trace(j)});
  for (int i = 0; i < designs; ++i) {
    database.add_designs(std::array{test_design(i)});
    for (int j = 0; j < traces; ++j) database.add(std::array{test_point(i, j)});
  }
}

}  // namespace lacuna::sweep
