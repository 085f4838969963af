// How long threads that wait for others spin before they sleep.
#pragma once

#include <string_view>

namespace lacuna::cli {

// For commands that train: starts the program anew with a short spin, shorter on a busy machine, unless the
// user has chosen how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). GCC's OpenMP reads it once, before
// main(), and spins for milliseconds by default: beside one other busy program each of a step's hundred loops
// then waits for a time slice.
void wait_briefly(int argc, char** argv);

// Whether a variable of the environment ("NAME=VALUE") is what wait_briefly() has set, which is not meant for
// programs that this one starts.
bool chosen_by_wait_briefly(std::string_view assignment);

}  // namespace lacuna::cli
