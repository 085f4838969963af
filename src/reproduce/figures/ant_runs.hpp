// The five networks of ANT's evaluation as we have them, and what both outer-product machines give on them.
#pragma once

#include <array>
#include <string>

#include "reproduce/figure.hpp"
#include "reproduce/runs.hpp"

namespace lacuna::reproduce {

// Limits of ANT's speedup on a recording; each has its sentence and its evidence in ant.cpp.
enum class AntLimit {
  kNoGainElsewhere,  // forward and input_grad
  kDenseGradients,   // SWAT alone prunes no gradients
  kPointwise,        // weight gradients of 1x1 convolutions
  kShortPairs,       // small planes
  kHead,             // large linear layers
  kImageSize,        // 224 x 224
};

struct AntTrace {
  std::string trace;  // of data/
  AntLimit limit;
};

struct AntNetwork {
  std::string name;              // also the key of the paper's values
  std::vector<AntTrace> traces;  // the first one stands for the network where one is enough
};

const std::vector<AntNetwork>& ant_networks();

// A reading of what the abstract and the talk leave open.
struct AntReading {
  const char* title;
  Settings settings;
  bool by_positions;  // 1x1 convolutions as products of matrices

  std::string source(const std::string& trace) const { return by_positions ? "positions:" + trace : trace; }
};
const std::array<AntReading, 4>& ant_readings();

// "uniform:resnet18:224:1"
std::string uniform_source(const std::string& network, int image_size, int seed = 1);
// Sizes of square images that a network runs with at random zeros; 224 only where it takes seconds.
constexpr int kSmallImages = 32;
std::vector<int> image_sizes(const std::string& network);
// Seeds that zeros are drawn with; larger images, which take longer, differ less from one to the next.
constexpr int seeds_of(int image_size) { return image_size > kSmallImages ? 1 : 2; }

// A trace on ANT and on the SCNN-like machine with the same settings.
struct AntNumbers {
  const Run& scnn;
  const Run& ant;

  double speedup() const { return scnn.batch.all.cycles / ant.batch.all.cycles; }
  double speedup(Operation op) const { return scnn.batch.of(op).cycles / ant.batch.of(op).cycles; }
  // Percent of ANT's cycles.
  double share(Operation op) const { return percent(ant.batch.of(op).cycles, ant.batch.all.cycles); }
  double energy() const { return ant.energy.machine.total() / scnn.energy.machine.total(); }
  double compute_energy() const { return ant.energy.machine.compute() / scnn.energy.machine.compute(); }
  // Percent of the Cartesian products that fit no output; of those, what ANT leaves out.
  double redundant() const { return percent(ant.counter("rcps"), ant.counter("cartesian_products")); }
  double redundant(Operation op) const {
    return percent(ant.counter("rcps", op), ant.counter("cartesian_products", op));
  }
  double redundant_in_weight_grad() const {
    return percent(ant.counter("rcps", Operation::kWeightGrad), ant.counter("rcps"));
  }
  double removed() const { return percent(ant.counter("rcps_anticipated"), ant.counter("rcps")); }

  static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }
};

AntNumbers ant_numbers(const Runs& runs, const std::string& trace, const Settings& settings = {});
inline AntNumbers ant_numbers(const Runs& runs, const std::string& trace, const AntReading& reading) {
  return ant_numbers(runs, reading.source(trace), reading.settings);
}

}  // namespace lacuna::reproduce
