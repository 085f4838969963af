// Small records with numbers that are easy to foresee, for tests.
#pragma once

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "sweep/store/database.hpp"
#include "sweep/store/result_columns.hpp"

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

// Sets the columns of those names and leaves the others NULL.
template <typename Columns>
void set_results(std::vector<Cell>& results, const Columns& columns,
                 const std::vector<std::pair<std::string_view, Cell>>& values) {
  results.resize(columns.size());
  for (const auto& [name, value] : values) {
    const auto column = std::ranges::find(columns, name, [](const auto& one) { return one.name; });
    results.at(static_cast<std::size_t>(column - columns.begin())) = value;
  }
}

inline double number_of(const PointRecord& point, std::string_view name) {
  const auto column = std::ranges::find(point_columns(), name, &PointColumn::name);
  return std::get<double>(point.results.at(static_cast<std::size_t>(column - point_columns().begin())));
}

inline void set_cycles(PointRecord& point, double cycles, double baseline_cycles) {
  set_results(point.results, point_columns(),
              {{"cycles", cycles},
               {"baseline_cycles", baseline_cycles},
               {"cycles_without_zeros", baseline_cycles},
               {"seconds", cycles / 500e6},
               {"baseline_seconds", baseline_cycles / 500e6}});
}

inline void set_energy(PointRecord& point, double joules, double baseline_joules) {
  set_results(point.results, point_columns(),
              {{"energy_joules", joules}, {"baseline_energy_joules", baseline_joules}});
}

// Design i on trace j: (i + 1) times as fast as its baseline.
inline PointRecord test_point(int i, int j) {
  PointRecord point{.key = fmt::format("point{}.{}", i, j),
                    .design = fmt::format("design{}", i),
                    .trace = fmt::format("trace{}", j)};
  constexpr std::int64_t kBaseline = 840;
  set_cycles(point, 32.0 * kBaseline / (i + 1), 32.0 * kBaseline);
  set_energy(point, 2.0 / (i + 1), 2);
  OperationRecord& operation = point.operations.emplace_back();
  set_results(operation.results, operation_columns(),
              {{"scheduled_macs", std::int64_t{500}},
               {"effectual_macs", std::int64_t{250}},
               {"cycles", kBaseline / (i + 1)},
               {"baseline_cycles", kBaseline},
               {"cycles_without_zeros", kBaseline}});
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

// Returns what export_csv() or export_json() writes.
template <typename Export>
std::string exported(const Export& rows, const std::filesystem::path& file, const std::string& view) {
  std::string text;
  rows(Reader(file), view, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace lacuna::sweep
