#define LACUNA_PASSES kAvx512Passes
#define LACUNA_PASSES_ISA "avx512"
#define LACUNA_PASSES_WIDTH 16
#include "train/passes/passes_of_isa.hpp"
