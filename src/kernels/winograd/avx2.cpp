// AVX2 and FMA: a vector of 16 is two registers.
#include <immintrin.h>

#define LACUNA_WIDTH 8
#define LACUNA_PRODUCT_TILES 6
#define LACUNA_PRODUCT_BLOCKS 1
#define LACUNA_OUTER_CHANNELS 4
#define LACUNA_ISA "avx2"
#define LACUNA_TABLE kAvx2WinogradLoops
#include "kernels/winograd/simd_loops.hpp"
