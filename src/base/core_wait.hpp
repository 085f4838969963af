// Whether other programs use the cores that a measurement runs on.
#pragma once

#include <sys/types.h>

namespace lacuna {

// What has become of the cores so far, in seconds, all threads together. 0 where the kernel does not tell.
struct CoreTimes {
  double waited = 0;  // threads of a process were ready to run and had no core
  double others = 0;  // cores ran something else than this process, or the host of a virtual machine had them
};

// Of a process, 0: this one.
CoreTimes core_times(pid_t process);

// Seconds between the two in which the process waited for cores that others used. Threads that wait for
// others of the same process do not count: PyTorch has one team of them per direction, and each spins while
// the other works (a third of the time of a small network).
double lost_to_others(const CoreTimes& before, const CoreTimes& after);

}  // namespace lacuna
