// Masks from values, and checks of masks that came from outside.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/mask_view.hpp"

namespace lacuna {

// Writes the mask of `values` to `out` (rows x ceil(channels/8) bytes). Zero and -0.0 are zero. Throws
// InputError at a NaN or an infinity; `place` (file, layer, tensor) starts the message.
void mask_from_values(const ValueView& values, std::uint8_t* out, const std::string& place);

// Throws InputError if a bit past the channels is set.
void check_mask_tails(const MaskView& mask, const std::string& place);

// Throws InputError if the mask is not the mask of the values.
void check_mask_fits_values(const MaskView& mask, const ValueView& values, const std::string& place);

}  // namespace lacuna
