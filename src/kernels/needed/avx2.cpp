// AVX2 and FMA: a vector of 16 is two registers.
#include <immintrin.h>

#define LACUNA_WIDTH 8
#define LACUNA_ISA "avx2"
#define LACUNA_TABLE kAvx2NeededLoops
#include "kernels/needed/few_registers.hpp"
