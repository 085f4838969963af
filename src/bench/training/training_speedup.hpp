// The speedup of a whole training from times measured at a few shares of zeros.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/operation.hpp"

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

// The shares of `grid` that are needed for values between `least` and `most`: those inside and one on each
// side.
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

}  // namespace lacuna::bench
