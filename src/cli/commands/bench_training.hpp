// `lacuna bench --zeros-file`: a whole training from a table of zeros and the times of each layer at a few
// shares of zeros.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/bench_shapes.hpp"
#include "cli/commands/bench_zeros.hpp"
#include "kernels/conv.hpp"

namespace lacuna::cli {

struct BenchCase;

// What is to be measured for one layer and operation.
struct ZerosPlan {
  std::vector<const ZeroTable::Row*>
      rows;  // of the checked operand, one per layer of this shape; none: dense
  std::optional<Operand> checked;
  std::vector<double> shares;  // to be measured
  std::optional<double>
      apart;  // another share, whose time is measured and compared with the interpolated one
  std::vector<double> all() const;  // `shares` and `apart`
};
// weight_grad checks the operand that has more zeros over the training. Throws InputError if the table lacks
// a row, or the layer does not say which rows are its own.
ZerosPlan plan_zeros(const ZeroTable& table, const BenchLayer& layer, Operation op,
                     const std::vector<double>& grid);

struct BenchTraining {
  std::string network, table;
  std::string impl;  // "sparse", "sparsetrain"
  std::size_t epochs = 0;
  TrainingSpeedup speedup;
  double paper_training = 0, paper_inference = 0;
  // |interpolated / measured - 1| at shares that were measured for this comparison.
  std::vector<double> interpolation_errors;
};
// From all cases of the network: ours, and SparseTrain's algorithm if it was timed.
std::vector<BenchTraining> trainings_of(const ZeroTable& table, const BenchNetwork& network,
                                        const std::vector<BenchCase>& cases, const std::vector<double>& grid);

std::string training_table(const std::vector<BenchTraining>& trainings);
nlohmann::ordered_json training_json(const std::vector<BenchTraining>& trainings);

}  // namespace lacuna::cli
