// Times of layers as tables, JSON and CSV.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/text/text_table.hpp"
#include "bench/machine.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

// One layer in one operation at one share of zeros.
struct Case {
  std::string network, layer;
  LayerShape shape;
  std::int64_t count = 1;
  bool initial = false;
  Operation op = Operation::kForward;
  Operand checked = Operand::kA;
  double wanted_zeros = 0;  // -1: from a trace
  int threads = 1;
  kernels::Impl impl = kernels::Impl::kSparse;
  kernels::Measurement result;

  double x_direct() const { return result.direct().ratio; }
  double x_auto() const { return result.automatic().ratio; }
  // SparseTrain's algorithm, times faster than oneDNN direct; 0: not timed.
  double authors_x_direct() const { return result.rival("sparsetrain").x_direct; }
};

// Training time of the non-initial convolutions of a network.
struct NetworkTotal {
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
struct GroupMean {
  std::string name;
  Operation op = Operation::kForward;
  double zeros = 0;
  double x_direct = 0;
  double worst = 0;
  std::int64_t layers = 0;
  double sparsetrain_x_direct = 0;  // 0: not timed
};

struct LayersReport {
  std::vector<Case> cases;
  std::vector<NetworkTotal> totals;
  std::vector<GroupMean> groups;
  Machine machine;
  std::size_t jobs = 0, jobs_done = 0;
  bool complete = true;               // false: stopped, cases are missing
  std::string impl;                   // as asked for
  std::vector<std::string> left_out;  // layers, or operations of them, that it has no kernel for
  bool best_column = false;           // a column for the fastest of oneDNN's
  bool exact = false;                 // auto left out Winograd
};

// `paper`: networks and the speedups that the paper gives for them, or 0.
std::vector<NetworkTotal> network_totals(const std::vector<Case>& cases,
                                         const std::vector<std::pair<std::string, double>>& paper);
std::vector<GroupMean> group_means(const std::vector<Case>& cases);

// `summary` follows the tables.
std::string layers_text(const LayersReport& report, const std::string& summary, const TextStyle& style);
Json layers_json(const LayersReport& report);
std::string layers_csv(const std::vector<Case>& cases);

}  // namespace lacuna::bench
