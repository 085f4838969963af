// What the choice between kernels rests on: `lacuna bench --calibrate` and `--show-calibration`.
#pragma once

#include <string>
#include <vector>

#include "kernels/choice/calibrate.hpp"

namespace lacuna::cli {

// One line per shape and operation in the cache of this user that is valid for this machine.
std::string calibration_table();

std::string calibration_header();
std::string calibration_row(const std::string& name, const std::string& shape, Operation op,
                            const kernels::Calibration& calibration);

// What to tell about the measurements of this process; empty if there is nothing to tell.
std::string calibration_note();

}  // namespace lacuna::cli
