// Area of the outer-product machines, from published figures only: SCNN's PE at 16 nm and what ANT adds.
#pragma once

#include <string_view>
#include <vector>

#include "energy/cost_table.hpp"

namespace lacuna {

// One part of the chip, all PEs together.
struct OuterAreaPart {
  std::string_view name;   // as in JSON: "accumulators"
  std::string_view title;  // for people
  Cost mm2;                // unit "mm2"
};

// What SCNN's PE is published for; another PE has no published area.
struct PublishedPe {
  static constexpr double kN = 4, kBanks = 32, kBankEntries = 32;
  static constexpr double kNode = 16;
  static constexpr double kPeMm2 = 0.123;         // as printed; its parts add up to 0.124
  static constexpr double kDenseChipMm2 = 5.9;    // SCNN's dense machine (DCNN), 64 PEs
  static constexpr double kAntAddedMm2 = 0.0017;  // [ANT abstract]: not said whether to a PE or to the chip
};

// The parts of `pes` PEs. `searches`: with what ANT adds, to each PE: ASSUMPTION(N3), the larger reading.
// `node_nm`: scaled from 16 nm by the factors of NodeScale. Throws InputError for a node without factors.
std::vector<OuterAreaPart> outer_area(double pes, bool searches, int node_nm, std::string_view origin);
double total_mm2(const std::vector<OuterAreaPart>& parts);

}  // namespace lacuna
