#define LACUNA_PASSES kPortablePasses
#define LACUNA_PASSES_ISA "portable"
#define LACUNA_PASSES_WIDTH 4
#include "train/passes/passes_of_isa.hpp"
