// AVX-512: a vector of 16 is one register.
#include <immintrin.h>

#define LACUNA_WIDTH 16
#define LACUNA_PRODUCT_TILES 14
#define LACUNA_PRODUCT_BLOCKS 2
#define LACUNA_OUTER_CHANNELS 8
#define LACUNA_ISA "avx512"
#define LACUNA_TABLE kAvx512WinogradLoops
#include "kernels/winograd/simd_loops.hpp"
