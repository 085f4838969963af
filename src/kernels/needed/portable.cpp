// For any CPU: SSE's registers.
#define LACUNA_WIDTH 4
#define LACUNA_ISA "portable"
#define LACUNA_TABLE kPortableNeededLoops
#include "kernels/needed/few_registers.hpp"
