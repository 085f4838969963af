// For any CPU: SSE's registers.
#define LACUNA_WIDTH 4
#define LACUNA_ISA "portable"
#define LACUNA_TABLE kPortablePruned
#include "kernels/pruned/few_registers.hpp"
