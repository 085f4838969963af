// The files of configs/energy as they are built into the program.
#pragma once

#include <span>
#include <string_view>

#include "base/embedded_file.hpp"

namespace lacuna {

std::span<const EmbeddedFile> embedded_energy_tables();  // made by lacuna_embed()

inline constexpr std::string_view kNodeScalingFile = "node-scaling.yaml";  // the only one that is not a table

}  // namespace lacuna
