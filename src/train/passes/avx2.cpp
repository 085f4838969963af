#define LACUNA_PASSES kAvx2Passes
#define LACUNA_PASSES_ISA "avx2"
#define LACUNA_PASSES_WIDTH 8
#include "train/passes/passes_of_isa.hpp"
