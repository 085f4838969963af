// `lacuna bench --precision`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/measure/measure.hpp"

namespace lacuna::cli {

void add_precision_option(CLI::App& bench, std::string& precision);

// Throws InputError where the CPU has no bfloat16, or for the first option that it does not go with.
void check_precision(const std::string& precision, const std::vector<std::pair<bool, const char*>>& not_with);

// With bfloat16, times those kernels (or with kAuto lets them be chosen) beside kAuto in single precision.
void use_precision(const std::string& precision, kernels::MeasureSpec& spec);

}  // namespace lacuna::cli
