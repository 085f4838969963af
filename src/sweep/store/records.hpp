// Rows of a file of results (docs/sweep.md): plain values, which the runner makes, MPI carries and the
// database stores. kColumns lists the members of a record once: tables, INSERTs and messages follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sweep/store/sqlite.hpp"

namespace lacuna::sweep {

// Parts of a point's results that a plan asks for. Cycles are always measured.
enum class Measure : unsigned { kCycles = 1, kEnergy = 2, kArea = 4, kMemory = 8 };
using Measures = unsigned;                                                        // of Measure, added up
inline constexpr std::array kMeasureNames{"cycles", "energy", "area", "memory"};  // in this order
constexpr Measures measures_of(Measure measure) { return static_cast<Measures>(measure); }
inline constexpr Measures kAllMeasures = 15;

// A column of a table: its name, the member that holds it, and more of its declaration in SQL.
template <typename Record, typename Value>
struct Column {
  constexpr Column(const char* its_name, Value Record::*its_member, const char* its_constraint = "")
      : name(its_name), member(its_member), constraint(its_constraint) {}

  const char* name;
  Value Record::*member;
  const char* constraint;
};
template <typename Record>
inline constexpr auto kColumns = std::tuple{};

struct LayerRecord {
  std::string name;
  std::string shape;
  double batch_scale = 1;  // recorded samples x this = the batch trained with
  std::int64_t macs = 0;   // of each operation, for the samples recorded
};
template <>
inline constexpr auto kColumns<LayerRecord> =
    std::tuple{Column{"name", &LayerRecord::name}, Column{"shape", &LayerRecord::shape},
               Column{"batch_scale", &LayerRecord::batch_scale}, Column{"macs", &LayerRecord::macs}};

struct TraceRecord {
  std::string sha256;  // of the file; of its description if it is synthetic
  std::string name;    // "resnet50_p100"
  std::string network;
  std::string origin;                   // the path, or the 'lacuna synth' command that makes it
  std::optional<double> progress = {};  // of the training when it was recorded, 0 to 1
  std::int64_t batch = 1;               // trained with
  std::vector<LayerRecord> layers = {};
};
template <>
inline constexpr auto kColumns<TraceRecord> =
    std::tuple{Column{"sha256", &TraceRecord::sha256, " UNIQUE"}, Column{"name", &TraceRecord::name},
               Column{"network", &TraceRecord::network},          Column{"origin", &TraceRecord::origin},
               Column{"progress", &TraceRecord::progress},        Column{"batch", &TraceRecord::batch}};

// A machine with all of its parameters, and how it is priced.
struct DesignRecord {
  std::string key;            // SHA-256 of program, configuration and costs, without names
  std::string machine;        // the name in the plan
  std::string model;          // what it is a configuration of
  std::string configuration;  // every parameter: JSON object
  std::string parameters;     // those that are not the model's defaults: "rows=8 columns=2"
  std::string baseline;       // model that it is compared with; empty: itself
  std::string baseline_configuration;
  std::string energy_table;  // empty: not priced
  std::optional<double> node_nm = {}, frequency_mhz = {};
  std::optional<double> area_mm2 = {}, baseline_area_mm2 = {}, compute_area_mm2 = {};  // compute: logic alone
};
template <>
inline constexpr auto kColumns<DesignRecord> =
    std::tuple{Column{"key", &DesignRecord::key, " UNIQUE"},
               Column{"machine", &DesignRecord::machine},
               Column{"model", &DesignRecord::model},
               Column{"configuration", &DesignRecord::configuration},
               Column{"parameters", &DesignRecord::parameters},
               Column{"baseline", &DesignRecord::baseline},
               Column{"baseline_configuration", &DesignRecord::baseline_configuration},
               Column{"energy_table", &DesignRecord::energy_table},
               Column{"node_nm", &DesignRecord::node_nm},
               Column{"frequency_mhz", &DesignRecord::frequency_mhz},
               Column{"area_mm2", &DesignRecord::area_mm2},
               Column{"baseline_area_mm2", &DesignRecord::baseline_area_mm2},
               Column{"compute_area_mm2", &DesignRecord::compute_area_mm2}};

// One operation of one layer.
struct OperationRecord {
  std::int64_t layer = 0;          // index of TraceRecord::layers
  std::int64_t operation = 0;      // 0 forward, 1 input_grad, 2 weight_grad
  std::vector<Cell> results = {};  // of operation_columns()
};

// A design on a trace.
struct PointRecord {
  std::string key;
  std::string design;  // DesignRecord::key
  std::string trace;   // TraceRecord::sha256
  Measures measured = kAllMeasures;
  double took_seconds = 0;         // to compute
  std::vector<Cell> results = {};  // of point_columns()
  std::vector<OperationRecord> operations = {};
};

struct FailureRecord {
  std::string key;
  std::string machine;
  std::string parameters;
  std::string trace;  // its name
  std::string error;
};
template <>
inline constexpr auto kColumns<FailureRecord> =
    std::tuple{Column{"key", &FailureRecord::key, " PRIMARY KEY"}, Column{"machine", &FailureRecord::machine},
               Column{"parameters", &FailureRecord::parameters}, Column{"trace", &FailureRecord::trace},
               Column{"error", &FailureRecord::error}};

// Calls use(column, value) for each column of a record.
template <typename Record, typename Use>
void each_column(Record& record, const Use& use) {
  std::apply([&](const auto&... column) { (use(column, record.*column.member), ...); },
             kColumns<std::remove_const_t<Record>>);
}

}  // namespace lacuna::sweep
