// `lacuna bench training`: a whole training from tables of zeros and the times of each layer at a few shares
// of zeros.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/inputs/zero_table.hpp"
#include "bench/layers/layers_bench.hpp"

namespace lacuna::bench {

// Time relative to oneDNN direct over the share of zeros, linear between measured points. What is left of
// the work is linear in the share; what is not (mispredicted loop ends) changes slowly.
class ZeroCurve {
 public:
  void add(double share, double time);  // in any order; shares differ
  bool empty() const { return points_.empty(); }
  double at(double share) const;  // outside: the line through the two nearest points, never below 0

 private:
  struct Point {
    double share, time;
  };
  std::vector<Point> points_;
};

// Returns the shares of `grid` that are needed for values between `least` and `most`: those inside and one on
// each side.
std::vector<double> covering_shares(std::vector<double> grid, double least, double most);

// One convolution of the network in one operation, over the epochs.
struct TrainingPart {
  Operation op = Operation::kForward;
  double direct_seconds = 0;
  std::vector<double> zeros;  // of the checked operand, by epoch; empty: it has none, and oneDNN direct runs
  ZeroCurve curve;
};

// Time of oneDNN direct / time of these kernels, over all epochs. `always`: zeros are skipped wherever the
// operand has any; `chosen`: only where it is faster than direct, which a program would choose.
struct Speedup {
  double always = 0;
  double chosen = 0;
};
struct TrainingSpeedup {
  Speedup training;  // all three operations
  PerOperation<Speedup> operations;
  Speedup inference;           // forward, zeros of the last epoch
  std::vector<double> epochs;  // training, chosen
};
TrainingSpeedup training_speedup(const std::vector<TrainingPart>& parts, std::size_t epochs);

struct TrainingPlan {
  std::vector<ZeroTable> tables;  // one per network
  std::vector<double> grid;       // shares of zeros between which times are interpolated
  LayersPlan layers;
};
// `tables`: files or built-in names; each belongs to the list of spec.shapes in its place, or to the network
// that its file is named after. Throws InputError.
TrainingPlan plan_training(const std::vector<std::string>& tables, LayersSpec spec);

struct TrainingResult {
  std::string network, table;
  std::string impl;  // "sparse", "sparsetrain"
  std::size_t epochs = 0;
  TrainingSpeedup speedup;
  double paper_training = 0, paper_inference = 0;
  // |interpolated / measured - 1| at shares that were measured for this comparison.
  std::vector<double> interpolation_errors;
};
// Returns the speedup of each network by our kernels, and by SparseTrain's algorithm if it was timed; nothing
// if layers or operations are missing.
std::vector<TrainingResult> training_results(const TrainingPlan& plan, const LayersReport& report);

std::string training_text(const LayersReport& report, const std::vector<TrainingResult>& results,
                          const TextStyle& style);
Json training_json(const LayersReport& report, const std::vector<TrainingResult>& results);

}  // namespace lacuna::bench
