// For any CPU: SSE's registers, four for a vector of 16.
#define LACUNA_WIDTH 4
#define LACUNA_PRODUCT_TILES 2
#define LACUNA_PRODUCT_BLOCKS 1
#define LACUNA_OUTER_CHANNELS 2
#define LACUNA_ISA "portable"
#define LACUNA_TABLE kPortableWinogradLoops
#include "kernels/winograd/simd_loops.hpp"
