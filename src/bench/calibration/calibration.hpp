// `lacuna bench calibrate`: the measurements that `auto` chooses between kernels by.
#pragma once

#include <functional>
#include <string>

#include "bench/layers/layers_plan.hpp"
#include "kernels/choice/calibrate.hpp"

namespace lacuna::bench {

// Re-measures every job of the plan, and calls `measured` with a line of a table (calibration_header()) for
// each.
void calibrate_layers(const LayersPlan& plan, const std::function<void(const std::string&)>& measured);
std::string calibration_header();

// Returns one line per shape and operation in this user's cache that is valid for this machine.
std::string calibration_table();

// Returns a sentence about measurements of this process that a busy machine disturbed, or nothing.
std::string calibration_note();

}  // namespace lacuna::bench
