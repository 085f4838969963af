// What a file of results holds (docs/sweep.md): plain values, which the runner makes, MPI carries and the
// database stores.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lacuna::sweep {

// What a point was asked for. Cycles always are.
enum class Measure : unsigned { kCycles = 1, kEnergy = 2, kArea = 4, kMemory = 8 };
using Measures = unsigned;  // of Measure, added up
inline constexpr std::array kMeasures{Measure::kCycles, Measure::kEnergy, Measure::kArea, Measure::kMemory};
constexpr const char* measure_name(Measure measure) {
  return measure == Measure::kCycles   ? "cycles"
         : measure == Measure::kEnergy ? "energy"
         : measure == Measure::kArea   ? "area"
                                       : "memory";
}
constexpr Measures measures_of(Measure measure) { return static_cast<Measures>(measure); }
inline constexpr Measures kAllMeasures = 15;

struct LayerRecord {
  std::string name;
  std::string shape;
  double batch_scale = 1;  // recorded samples x this = the batch trained with
  std::int64_t macs = 0;   // of each operation, for the samples recorded
};

struct TraceRecord {
  std::string sha256;  // of the file; of its description if it is synthetic
  std::string name;    // "resnet50_p100"
  std::string network;
  std::string origin;                   // the path, or the 'lacuna synth' command that makes it
  std::optional<double> progress = {};  // of the training, 0..1
  std::int64_t batch = 1;
  std::vector<LayerRecord> layers = {};
};

// A machine with all of its parameters, and how it is priced.
struct DesignRecord {
  std::string key;            // SHA-256 of what follows, without names
  std::string machine;        // the name in the plan
  std::string model;          // what it is a configuration of
  std::string configuration;  // every parameter: JSON object
  std::string parameters;     // those that are not the model's defaults: "rows=8 columns=2"
  std::string baseline;       // model that it is compared with; empty: itself
  std::string baseline_configuration;
  std::string energy_table;  // empty: not priced
  double node_nm = 0;
  double frequency_mhz = 0;  // 0: not known
  std::optional<double> area_mm2 = {}, baseline_area_mm2 = {}, compute_area_mm2 = {};
};

// One operation of one layer, as recorded (energy: of the whole batch).
struct OperationRecord {
  std::int64_t layer = 0;  // index of TraceRecord::layers
  int operation = 0;       // 0 forward, 1 input_grad, 2 weight_grad
  std::int64_t scheduled_macs = 0;
  std::int64_t effectual_macs = 0;
  std::int64_t cycles = 0;
  std::int64_t baseline_cycles = 0;
  std::int64_t cycles_without_zeros = 0;
  std::optional<double> energy_joules = {}, baseline_energy_joules = {};
  std::optional<std::string> bound = {};  // what decides the time: "compute", "dram"
  std::optional<double> dram_bytes = {};  // of the whole batch
};

// A design on a trace: totals of one training step with the whole batch.
struct PointRecord {
  std::string key;
  std::string design;  // DesignRecord::key
  std::string trace;   // TraceRecord::sha256
  Measures measured = kAllMeasures;
  double cycles = 0, baseline_cycles = 0, cycles_without_zeros = 0;
  std::optional<double> seconds = {}, baseline_seconds = {};
  std::optional<double> energy_joules = {}, baseline_energy_joules = {};
  std::optional<double> compute_energy_joules = {}, baseline_compute_energy_joules = {};  // logic alone
  std::optional<double> dram_read_bytes = {}, dram_write_bytes = {}, compute_cycles = {};
  std::vector<OperationRecord> operations = {};
  double took_seconds = 0;  // to compute
};

struct FailureRecord {
  std::string key;
  std::string machine;
  std::string parameters;
  std::string trace;  // its name
  std::string error;
};

}  // namespace lacuna::sweep
