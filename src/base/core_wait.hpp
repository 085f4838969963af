// Whether other programs use the cores that a measurement runs on.
#pragma once

#include <sys/types.h>

namespace lacuna {

// Seconds that the threads of a process (0: this one) have been ready to run and waiting for a core, all
// threads together. 0 where the kernel does not tell.
double seconds_waited_for_cores(pid_t process);

}  // namespace lacuna
