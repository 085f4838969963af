// A list of measurements, made and checked before anything is timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/inputs/layer_list.hpp"
#include "bench/layers/baselines.hpp"
#include "kernels/measure/measure.hpp"

namespace lacuna::bench {

// Settings of the measurements: layers, operations, shares of zeros and what to compare with.
struct LayersSpec {
  std::vector<std::string> shapes;  // lists of layers (read_shapes()); without traces: vgg16 and resnet50
  std::vector<std::string> traces;  // their convolutions with their own zeros
  std::vector<std::string> ops = {"forward", "input_grad", "weight_grad"};
  std::vector<double> zeros = {0, 20, 40, 50, 60, 70, 80, 90, 95};  // percent, at random places
  std::vector<std::string> baselines;  // more of oneDNN's: direct, winograd, gemm, best
  std::string layer;                   // only layers whose name contains this
  std::string impl;                    // a name of kernels::describe_impls(); "": sparse, auto for traces
  std::string layout = "blocked";      // blocked, nchw, nhwc
  std::string zeros_in;                // data, weights, both, input; "": data, both for traces and auto
  std::string precision = "float32";   // float32, bfloat16
  std::int64_t batch = 16;
  int threads = 1;  // 0: all cores
  int rounds = 5;
  double seconds = 0.2;         // at least, per layer and operation
  bool beside_blocked = false;  // time the same on blocked tensors
  bool with_auto = true;        // time oneDNN's own choice of algorithm
  bool exact = false;           // auto leaves out Winograd
};

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
