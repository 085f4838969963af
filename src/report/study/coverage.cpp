#include "report/study/coverage.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/text_table.hpp"

namespace lacuna {
namespace {

bool all_known(const TraceInfo& info) {
  return std::ranges::all_of(info.left_out, [](const LeftOut& part) { return part.macs.has_value(); });
}

// Rounded down, so that what is left out never becomes "100 %".
std::string share_text(const TraceInfo& info) {
  const double percent = 100 * info.recorded_share.value_or(1);
  return fmt::format("{}{} %", all_known(info) ? "" : "at most ", static_cast<int>(percent + 1e-9));
}

}  // namespace

std::string coverage_text(const TraceInfo& info) {
  if (info.left_out.empty()) return "";
  constexpr std::size_t kMostNames = 3;
  std::vector<LeftOut> parts = info.left_out;
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const LeftOut& part) { return part.macs.value_or(0); });
  std::string text = info.recorded_share ? share_text(info) + " of the network's MACs recorded; left out: "
                                         : "a part of the network left out: ";
  for (std::size_t i = 0; i < std::min(parts.size(), kMostNames); ++i) {
    text += i > 0 ? ", " : "";
    text += printable(parts[i].name);
    if (parts[i].type != parts[i].name) text += fmt::format(" ({})", printable(parts[i].type));
  }
  if (parts.size() > kMostNames) text += fmt::format(" and {} more", parts.size() - kMostNames);
  return text;
}

std::string total_coverage(const TraceInfo& info) {
  if (info.left_out.empty()) return "";
  if (!info.recorded_share) return ", of a part of the network";
  return fmt::format(", of {} of the network", share_text(info));
}

std::optional<double> coverage_share(const TraceInfo& info) {
  return info.left_out.empty() ? 1.0 : info.recorded_share;
}

}  // namespace lacuna
