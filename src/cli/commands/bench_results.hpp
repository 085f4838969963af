// The results of `lacuna bench` as tables, JSON and CSV.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/bench_training.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::cli {

struct BenchCase {
  std::string network, layer;
  LayerShape shape;
  std::int64_t count = 1;
  bool initial = false;
  Operation op = Operation::kForward;
  Operand checked = Operand::kA;
  double wanted_zeros = 0;  // of the sweep; -1: from a trace
  int threads = 1;
  kernels::Impl impl = kernels::Impl::kSparse;
  kernels::Measurement result;
};

// Training time of the non-initial convolutions of a network.
struct BenchNetworkTotal {
  std::string name;
  double zeros = -1;  // -1: as in the trace
  double paper = 0;
  double seconds = 0, direct = 0, automatic = 0;
  double sparsetrain = 0;  // seconds of SparseTrain's algorithm; 0: not timed
  double float32 = 0;      // of kAuto in single precision; 0: not timed
  double x_direct() const { return direct / seconds; }
  double x_auto() const { return automatic / seconds; }
};

// Geometric mean over layers of one kind.
struct BenchGroup {
  std::string name;
  Operation op = Operation::kForward;
  double zeros = 0;
  double x_direct = 0;
  double worst = 0;
  std::int64_t layers = 0;
  double sparsetrain_x_direct = 0;  // 0: not timed
};

struct BenchMachine {
  std::string cpu, isa, onednn;
  double peak_gflops = 0;
};
BenchMachine this_machine();

std::vector<BenchNetworkTotal> network_totals(const std::vector<BenchCase>& cases,
                                              const std::vector<std::pair<std::string, double>>& paper);
std::vector<BenchGroup> group_means(const std::vector<BenchCase>& cases);

// All that a run of `lacuna bench` has to say.
struct BenchReport {
  std::vector<BenchCase> cases;
  std::vector<BenchNetworkTotal> totals;
  std::vector<BenchGroup> groups;
  BenchMachine machine;
  bool complete = true;                  // false: stopped by a signal, cases are missing
  std::vector<BenchTraining> trainings;  // --zeros-file
  std::vector<std::string> left_out;     // layers that --impl sparsetrain has no kernel for
  bool best_column = false;              // a column for the fastest of oneDNN's
  bool exact = false;                    // auto left out Winograd
};
std::string bench_tables(const BenchReport& report);
std::string bench_json(const BenchReport& report);
std::string bench_csv(const std::vector<BenchCase>& cases);

}  // namespace lacuna::cli
