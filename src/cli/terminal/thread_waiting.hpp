// Time that waiting threads spin before they sleep.
#pragma once

#include <string>
#include <vector>

namespace lacuna::cli {

// Restarts the program with a short spin, shorter on a busy machine, for commands that train, unless the user
// has chosen how threads wait (OMP_WAIT_POLICY, GOMP_SPINCOUNT). GCC's OpenMP reads it once, before main(),
// and spins for milliseconds by default: next to one other busy program each of a step's hundred loops then
// waits for a time slice.
void wait_briefly(int argc, char** argv);

// Lists the variables of the environment ("NAME=VALUE") that wait_briefly() may have set, which are not meant
// for programs that this one starts.
std::vector<std::string> set_by_wait_briefly();

}  // namespace lacuna::cli
