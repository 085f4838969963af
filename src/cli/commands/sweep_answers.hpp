// `lacuna sweep best | pareto | effects | diff`: questions about a file of results.
#pragma once

#include <CLI/CLI.hpp>

namespace lacuna::cli {

// Adds them to `lacuna sweep`.
void add_sweep_answers(CLI::App& sweep);

}  // namespace lacuna::cli
