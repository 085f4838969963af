#include "sim/workload/stream_classes.hpp"

#include <algorithm>
#include <map>

#include "base/ceil_div.hpp"

namespace lacuna {
namespace {

// For each position on an axis of the grid, a number for the set of taps that are inside the plane.
std::vector<std::uint32_t> axis_kinds(std::int64_t grid, std::int64_t stride, std::int64_t plane,
                                      const std::vector<Tap>& taps, std::int64_t Tap::*offset,
                                      std::uint32_t& count) {
  std::map<std::vector<bool>, std::uint32_t> seen;
  std::vector<std::uint32_t> kinds(static_cast<std::size_t>(grid));
  std::vector<bool> inside(taps.size());
  for (std::int64_t at = 0; at < grid; ++at) {
    for (std::size_t t = 0; t < taps.size(); ++t) {
      const std::int64_t source = at * stride + taps[t].*offset;
      inside[t] = source >= 0 && source < plane;
    }
    kinds[static_cast<std::size_t>(at)] =
        seen.emplace(inside, static_cast<std::uint32_t>(seen.size())).first->second;
  }
  count = static_cast<std::uint32_t>(seen.size());
  return kinds;
}

// A number for what each stream holds; not every number up to the largest occurs.
std::vector<std::uint32_t> raw_kinds(const OperandStreams& s) {
  std::vector<std::uint32_t> kinds(static_cast<std::size_t>(s.count()));
  switch (s.axis) {
    case LaneAxis::kChannels: {
      std::uint32_t columns = 0, lines = 0;
      const auto y = axis_kinds(s.grid.h, s.stride.h, s.plane.h, s.taps, &Tap::dy, lines);
      const auto x = axis_kinds(s.grid.w, s.stride.w, s.plane.w, s.taps, &Tap::dx, columns);
      const std::int64_t positions = s.grid.h * s.grid.w;
      for (std::int64_t i = 0; i < s.count(); ++i) {
        const Size2 at = s.grid_place(i % positions);
        kinds[static_cast<std::size_t>(i)] =
            y[static_cast<std::size_t>(at.h)] * columns + x[static_cast<std::size_t>(at.w)];
      }
      break;
    }
    case LaneAxis::kPositions:  // stream = (tap, channel)
      for (std::int64_t i = 0; i < s.count(); ++i)
        kinds[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i / s.channels);
      break;
    case LaneAxis::kImages:  // stream = channel
      break;
  }
  return kinds;
}

}  // namespace

Alike alike_streams(const OperandStreams& streams) {
  Alike alike{raw_kinds(streams), {}};
  std::map<std::uint32_t, std::uint32_t> seen;
  for (std::size_t i = 0; i < alike.kind.size(); ++i) {
    const auto [at, added] = seen.emplace(alike.kind[i], static_cast<std::uint32_t>(seen.size()));
    if (added) alike.first.push_back(static_cast<std::int64_t>(i));
    alike.kind[i] = at->second;
  }
  return alike;
}

Alike alike_groups(const OperandStreams& streams, std::int64_t rows) {
  const std::vector<std::uint32_t> kinds = raw_kinds(streams);
  const std::int64_t groups = ceil_div(streams.count(), rows);
  Alike alike;
  alike.kind.reserve(static_cast<std::size_t>(groups));
  std::map<std::vector<std::uint32_t>, std::uint32_t> seen;
  std::vector<std::uint32_t> last;
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto first = kinds.begin() + g * rows;
    const auto end = kinds.begin() + std::min(streams.count(), (g + 1) * rows);
    if (g > 0 && std::equal(first, end, last.begin(), last.end())) {  // the usual case
      alike.kind.push_back(alike.kind.back());
      continue;
    }
    last.assign(first, end);
    const auto [at, added] = seen.emplace(last, static_cast<std::uint32_t>(seen.size()));
    if (added) alike.first.push_back(g);
    alike.kind.push_back(at->second);
  }
  return alike;
}

}  // namespace lacuna
