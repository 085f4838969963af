// `lacuna bench layers`: the zero-skipping convolutions against oneDNN on this machine, layer by layer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/control.hpp"
#include "bench/layers/layers_plan.hpp"
#include "bench/layers/layers_report.hpp"

namespace lacuna::bench {

// Times every job of the plan. Told to stop, it ends after the rounds that are being timed and keeps the
// cases measured so far.
LayersReport measure_layers(const LayersPlan& plan, const Control& control);

// Adds totals of networks and means over kinds of layers where the report has all layers and operations.
void summarize(const LayersPlan& plan, LayersReport& report);

// Returns whether the report holds all operations of all layers: a total over part of them would not be
// training time.
bool is_whole_training(const LayersPlan& plan, const LayersReport& report);

// The gain of several threads over one.
struct ScalingCase {
  std::string layer;
  Operation op = Operation::kForward;
  double zeros = -1;  // -1: as in the trace
  kernels::Scaling result;
};
// Calls `measured` for each job and share of zeros of the plan as it goes.
void measure_scaling(const LayersPlan& plan, const Control& control,
                     const std::function<void(const ScalingCase&)>& measured);
std::string scaling_header(int threads);
std::string scaling_row(const ScalingCase& scaling);
std::string scaling_mean(const std::vector<ScalingCase>& all);

}  // namespace lacuna::bench
