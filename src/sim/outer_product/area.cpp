#include "sim/outer_product/area.hpp"

namespace lacuna::outer {
namespace {
constexpr double kScnnPeMm2 = 0.123;
constexpr std::int64_t kPublishedN = 4;
}  // namespace

const std::vector<AreaItem>& scnn_pe_area() {
  static const std::vector<AreaItem> kItems{
      {"IARAM and OARAM, 20 KB", 0.031, "SCNN ISCA 2017, PE area table"},
      {"weight FIFO, 0.5 KB", 0.004, "SCNN ISCA 2017, PE area table"},
      {"16 multipliers", 0.008, "SCNN ISCA 2017, PE area table"},
      {"16 x 32 crossbar", 0.026, "SCNN ISCA 2017, PE area table"},
      {"accumulators, 6 KB", 0.036, "SCNN ISCA 2017, PE area table"},
      {"other", 0.019, "SCNN ISCA 2017, PE area table"},
  };
  return kItems;
}

double scnn_chip_mm2(std::int64_t pes, std::int64_t n) {
  return n == kPublishedN ? kScnnPeMm2 * static_cast<double>(pes) : 0;
}

AntArea ant_chip_mm2(std::int64_t pes, std::int64_t n) {
  if (n != kPublishedN) return {};
  const double scnn = scnn_chip_mm2(pes, n);
  return {scnn + kAntAddedMm2, scnn + kAntAddedMm2 * static_cast<double>(pes)};
}

}  // namespace lacuna::outer
