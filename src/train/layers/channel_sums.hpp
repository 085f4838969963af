// Sums over activations, for the gradients of biases: oneDNN gives them only with its own convolutions, and
// its reduction primitive is the reference one on CPUs up to 2.6. The bits do not depend on the number of
// threads.
#pragma once

#include <cstdint>

#include "train/layers/activation.hpp"

namespace lacuna::train {

// sums[c] = sum over n, h, w of the blocked tensor; `sums` has shape.c floats.
void channel_sums(const Activation& like, const float* blocked, float* sums, int threads);
double total(const float* values, std::int64_t count, int threads);
double dot(const float* a, const float* b, std::int64_t count, int threads);
// Sets the channels past the last to zero.
void clear_padding(Activation& activation);

}  // namespace lacuna::train
