// Helpers of several of TensorDash's tests.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "models/tensordash/connectivity.hpp"
#include "models/tensordash/storage/tensor_groups.hpp"

namespace lacuna::tensordash {

inline constexpr std::array kGroupings{Grouping::kChannels, Grouping::kMerged, Grouping::kBlocks,
                                       Grouping::kFilters};

inline Connectivity connect(std::string_view spec, int lanes, int depth) {
  return Connectivity::parse(std::string(spec), lanes, depth, "test");
}

}  // namespace lacuna::tensordash
