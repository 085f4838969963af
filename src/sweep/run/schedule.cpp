#include <algorithm>
#include <map>
#include <numeric>

#include "sweep/run/runner.hpp"

namespace lacuna::sweep {
namespace {

// A chunk's results are held until it ends (half a megabyte per point of a large network), and a sweep that
// is stopped waits for its chunks.
constexpr std::uint64_t kFewest = 8, kMost = 64;
// Chunks per worker: enough that the last ones end at about the same time.
constexpr std::uint64_t kChunksPerWorker = 16;
// Traces in work at the same time, so that some are read while others are computed.
constexpr std::size_t kTracesAtOnce = 4;

}  // namespace

WorkList make_chunks(const DesignList& designs, const std::vector<std::string>& trace_sha256,
                     const std::vector<std::uint64_t>& bytes,
                     const std::unordered_map<std::string, Measures>& stored, Measures measures,
                     int workers) {
  WorkList list;
  std::vector<std::uint32_t> traces(trace_sha256.size());
  std::iota(traces.begin(), traces.end(), 0U);
  std::ranges::stable_sort(traces, std::ranges::greater{}, [&](std::uint32_t trace) { return bytes[trace]; });
  // Designs that share work next to each other, in the order of the plan.
  std::map<std::string, std::uint32_t> first_of;
  std::vector<std::uint32_t> order(designs.entries.size());
  std::iota(order.begin(), order.end(), 0U);
  for (const std::uint32_t i : order) first_of.emplace(designs.entries[i].sharing, i);
  std::ranges::stable_sort(order, {},
                           [&](std::uint32_t i) { return first_of.at(designs.entries[i].sharing); });

  std::vector<std::vector<std::uint32_t>> missing(traces.size());
  for (const std::uint32_t trace : traces) {
    for (const std::uint32_t i : order) {
      const auto at = stored.find(point_key(designs.entries[i].key, trace_sha256[trace]));
      if (at != stored.end() && (at->second & measures) == measures) {
        ++list.stored;
      } else {
        missing[trace].push_back(i);
        ++list.points;
      }
    }
  }
  const std::uint64_t size = std::clamp(
      list.points / (kChunksPerWorker * static_cast<std::uint64_t>(std::max(1, workers))), kFewest, kMost);
  std::vector<std::vector<Chunk>> of_trace(traces.size());
  for (const std::uint32_t trace : traces) {
    std::vector<Chunk>& chunks = of_trace[trace];
    const std::string* sharing = nullptr;  // of the design before
    for (const std::uint32_t i : missing[trace]) {
      const DesignList::Entry& entry = designs.entries[i];
      const std::size_t held = chunks.empty() ? size : chunks.back().designs.size();
      // Small groups go together.
      const bool fits = held < size && (held < kFewest || *sharing == entry.sharing);
      if (!fits) chunks.push_back({trace, {}});
      chunks.back().designs.push_back(entry.choice);
      sharing = &entry.sharing;
    }
  }
  for (std::size_t first = 0; first < traces.size(); first += kTracesAtOnce) {
    const std::size_t end = std::min(first + kTracesAtOnce, traces.size());
    // The first chunk of each reads it while others compute; then the largest trace comes first, so that
    // the last chunks are short and all workers end at about the same time.
    for (std::size_t t = first; t < end; ++t) {
      std::vector<Chunk>& chunks = of_trace[traces[t]];
      if (!chunks.empty()) list.chunks.push_back(std::move(chunks.front()));
    }
    for (std::size_t t = first; t < end; ++t) {
      std::vector<Chunk>& chunks = of_trace[traces[t]];
      for (std::size_t i = 1; i < chunks.size(); ++i) list.chunks.push_back(std::move(chunks[i]));
    }
  }
  return list;
}

}  // namespace lacuna::sweep
