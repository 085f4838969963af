// A list of measurements, made and checked before anything is timed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/inputs/layer_list.hpp"
#include "bench/layers/baselines.hpp"
#include "bench/layers/layers_spec.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

// One layer in one operation.
struct Job {
  const Network* network;
  const NetworkLayer* layer;
  Operation op;
  std::optional<Operand> checked;
  std::vector<double> zeros;  // shares to measure; none: as in the trace
  bool either_side = false;   // zeros of weights may be skipped instead

  std::string name() const { return network->name + " " + layer->name; }
  // Time that it takes, in arbitrary units.
  double cost() const {
    return static_cast<double>(layer->shape.macs()) * static_cast<double>(zeros.size() + 1);
  }
};

struct LayersPlan {
  LayersSpec spec;  // complete; zeros as shares, 0..1
  Baselines baselines;
  std::vector<Network> networks;  // of spec.shapes, then of spec.traces
  std::vector<Job> jobs;          // point into networks
  // Layers, or operations of them, that spec.impl has no kernel for, and for sparsetrain initial layers,
  // which its authors leave to a dense kernel.
  std::vector<std::string> left_out;
};

// Throws InputError for settings that do not go together and for files that cannot be read.
LayersPlan plan_layers(LayersSpec spec);

kernels::MeasureSpec measure_spec(const LayersSpec& spec, const Baselines& baselines, const Job& job,
                                  kernels::Impl impl);

// Returns the implementation to time. Throws InputError for an unknown name.
kernels::Impl impl_of(const LayersSpec& spec);

// Returns whether groups leave most lanes of our kernels empty (depthwise and the like): those layers are
// always oneDNN's.
bool is_part_grouped(const LayerShape& shape);

// Throws InputError where the CPU has no bfloat16.
void check_precision(const std::string& precision);

}  // namespace lacuna::bench
