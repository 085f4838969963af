// Tables of zeros over a training (`lacuna bench --zeros-file`), and the time of that training from times
// measured at a few shares of zeros.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/operation.hpp"

namespace lacuna::cli {

// A CSV file: a line `layer,1,2,...` with a name per point in time (an epoch), then one line per tensor with
// its name and its share of zeros at each of them. Empty lines and lines that begin with # are left out.
struct ZeroTable {
  struct Row {
    std::string name;
    std::vector<double> shares;  // 0..1, by epoch
  };
  std::string path;
  std::vector<std::string> epochs;
  std::vector<Row> rows;

  // Throws InputError if there is none; `use` says what wants it.
  const Row& row(std::string_view name, std::string_view use) const;
};

// `name` is a .csv file or the name of one of data/papers/sparsetrain_zeros, which are part of the program.
// Throws InputError with line and column.
ZeroTable read_zero_table(const std::string& name);
ZeroTable parse_zero_table(std::string_view text, const std::string& path);
std::vector<std::string> zero_table_names();
// The network that a table is of: the name of its file without folder and ending.
std::string zero_table_network(const std::string& name);

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

}  // namespace lacuna::cli
