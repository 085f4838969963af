#include "energy/outer_area.hpp"

#include <fmt/format.h>

namespace lacuna {
namespace {

struct PublishedPart {
  std::string_view name;
  std::string_view title;
  double mm2_a_pe;
  bool memory;  // scaled as SRAM
};
// [SCNN, PE area table]
constexpr PublishedPart kScnnParts[] = {
    {"operand_and_output_rams", "IARAM and OARAM, 20 KB a PE", 0.031, true},
    {"weight_fifo", "weight FIFO, 0.5 KB a PE", 0.004, true},
    {"multipliers", "16 multipliers a PE", 0.008, false},
    {"crossbar", "16 x 32 crossbar a PE", 0.026, false},
    {"accumulators", "accumulators, 6 KB a PE", 0.036, true},
    {"other", "other", 0.019, false},
};
constexpr PublishedPart kAntPart{"range_search", "range and search (ANT)", PublishedPe::kAntAddedMm2, false};

}  // namespace

std::vector<OuterAreaPart> outer_area(double pes, bool searches, int node_nm, std::string_view origin) {
  const NodeScale from = NodeScale::find(static_cast<int>(PublishedPe::kNode), origin);
  const NodeScale to = NodeScale::find(node_nm, origin);
  const bool scaled = to.node_nm != from.node_nm;
  std::vector<OuterAreaPart> parts;
  const auto add = [&](const PublishedPart& part, std::string_view source) {
    const Cost& up = part.memory ? from.sram_area : from.logic_area;
    const Cost& down = part.memory ? to.sram_area : to.logic_area;
    Cost mm2{.value = part.mm2_a_pe * pes * down.value / up.value,
             .unit = "mm2",
             .source = std::string(source),
             .confidence = Confidence::kHigh};
    if (scaled) {
      mm2.source += fmt::format("; 16 to {} nm by {}", node_nm, part.memory ? "SRAM" : "logic");
      mm2.confidence = Confidence::kLow;  // the factors are, at 16 nm
    }
    parts.push_back({part.name, part.title, std::move(mm2)});
  };
  for (const PublishedPart& part : kScnnParts) add(part, "SCNN ISCA 2017, PE area table");
  if (searches) {
    add(kAntPart, "ANT abstract: 0.0017 mm2, taken for a PE (N3)");
    // The node is taken to be SCNN's: the abstract names none.
    parts.back().mm2.confidence = Confidence::kLow;
  }
  return parts;
}

double total_mm2(const std::vector<OuterAreaPart>& parts) {
  double sum = 0;
  for (const OuterAreaPart& part : parts) sum += part.mm2.value;
  return sum;
}

}  // namespace lacuna
