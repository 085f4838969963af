// For any CPU: SSE's registers.
#define LACUNA_WIDTH 4
#define LACUNA_ISA "portable"
#define LACUNA_TABLE kPortableTileLoops
#include "kernels/ffn/few_registers.hpp"
