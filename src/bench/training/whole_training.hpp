// `lacuna bench training`: a whole training from tables of zeros and the times of each layer at a few shares
// of zeros.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/inputs/zero_table.hpp"
#include "bench/layers/layers_bench.hpp"
#include "bench/training/training_speedup.hpp"

namespace lacuna::bench {

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
nlohmann::ordered_json training_json(const LayersReport& report, const std::vector<TrainingResult>& results);

}  // namespace lacuna::bench
