// Area of the outer-product machines, from published figures only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lacuna::outer {

struct AreaItem {
  std::string_view name;
  double mm2_a_pe = 0;
  std::string_view source;
};

// The parts of an SCNN PE of 4 x 4 multipliers, 16 nm [SCNN, PE area table]. They add up to 0.124 mm2; the
// paper prints 0.123 for the PE.
const std::vector<AreaItem>& scnn_pe_area();

// 64 PEs of 0.123 mm2: 7.87; the paper prints 7.9 for the chip. The published PE is one of 16 multipliers;
// other sizes have no published area and give 0.
double scnn_chip_mm2(std::int64_t pes, std::int64_t n);

// What ANT adds [ANT abstract]. The abstract does not say whether to each PE or to the chip, so both readings
// are given. ASSUMPTION(N3): per PE is the careful one.
inline constexpr double kAntAddedMm2 = 0.0017;
struct AntArea {
  double added_once_mm2 = 0;  // the chip, if 0.0017 is the chip's
  double added_a_pe_mm2 = 0;  // the chip, if it is a PE's
};
AntArea ant_chip_mm2(std::int64_t pes, std::int64_t n);

}  // namespace lacuna::outer
