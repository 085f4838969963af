// `lacuna train --resume`: a run goes on as its config.json says, without its options being given again.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/train_options.hpp"

namespace lacuna::cli {

// Sets every option that was not given to what the run in `options.out` was started with, as if it had been
// given. Options that decide what is learnt cannot be given another value: throws InputError that names both.
// How long the run goes on, with how many threads and which kernels, and what it writes may change. Without a
// config.json nothing is set: then the checkpoint refuses options that differ.
void take_over_config(CLI::App& command, TrainCommand& options);

}  // namespace lacuna::cli
