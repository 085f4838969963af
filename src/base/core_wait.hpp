// Detects other programs that use the cores a measurement runs on.
#pragma once

#include <sys/types.h>

namespace lacuna {

// Time that a process did not get, in seconds since it started, summed over threads. 0 where the kernel does
// not report it.
struct CoreTimes {
  double waited = 0;  // threads of the process were ready to run and had no core
  double others = 0;  // cores ran other processes, or the host took them from a virtual machine
};

// Reads the times of a process; 0 means this one.
CoreTimes core_times(pid_t process);

// Returns the seconds between the two in which the process waited for cores that other programs used. Threads
// that wait for others of the same process do not count: PyTorch has one team of them per direction, and each
// spins while the other works (a third of the time of a small network).
double lost_to_others(const CoreTimes& before, const CoreTimes& after);

}  // namespace lacuna
