// One pair on an ANT PE, cycle by cycle, as docs/models/ant.md gives the rules. The functional engine and the
// count of bank conflicts run on it; the fast engine (ant_counter.hpp) must count the same.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "ant_pe.hpp"

namespace lacuna::ant {

// `position(i)` is the i-th of `elements` image non-zeros in CSR order; issue(first, end, hits) is called for
// each cycle that multiplies image elements first..end-1 with the kernel's elements `hits`.
template <typename PositionOf, typename Issue>
PairCounts run_ant_pair(const AntPeConfig& config, const IndexMap& map, std::size_t elements,
                        const PositionOf& position, const CsrPlane& kernel, const Issue& issue) {
  PairCounts counts;
  counts.pairs = 1;
  counts.cartesian = static_cast<std::int64_t>(elements) * kernel.nonzeros();
  const auto lanes = static_cast<std::size_t>(config.image_lanes);
  const auto kernel_lanes = static_cast<std::size_t>(config.kernel_lanes);
  std::vector<std::uint32_t> hits;
  for (std::size_t first = 0; first < elements; first += lanes) {
    const std::size_t end = std::min(first + lanes, elements);
    // Stage 1: n image values and their indices. CSR order: the first and the last have the extreme rows.
    counts.image_reads += static_cast<std::int64_t>(end - first);
    std::uint32_t x0 = position(first).x, x1 = x0;
    for (std::size_t i = first + 1; i < end; ++i) {
      x0 = std::min(x0, position(i).x);
      x1 = std::max(x1, position(i).x);
    }
    // Stage 2: the ranges; stage 3: row pointers.
    ++counts.ranges;
    const outer_product::KernelRange range = map.range(position(first).y, position(end - 1).y, x0, x1);
    std::int64_t p = 0, last = 0;
    if (!range.empty()) {
      p = kernel.ptr[static_cast<std::size_t>(range.r0)];
      last = kernel.ptr[static_cast<std::size_t>(range.r1) + 1];
      counts.row_pointer_reads += 2;
    }
    if (p >= last) {  // ASSUMPTION(N1): nothing to look at costs `empty_cost` cycles
      ++counts.empty_ranges;
      counts.bubbles += config.empty_cost;
    }
    while (p < last) {
      // Stage 3 and 4: k indices, of which the first n+1 in range matter.
      const std::int64_t window_end = std::min(p + config.window, last);
      counts.kernel_index_reads += window_end - p;
      hits.clear();
      std::int64_t next = p + config.window;
      for (std::int64_t j = p; j < window_end; ++j) {
        const std::int64_t s = kernel.col[static_cast<std::size_t>(j)];
        if (s < range.s0 || s > range.s1) continue;
        if (hits.size() == kernel_lanes) {
          next = j;
          break;
        }
        hits.push_back(static_cast<std::uint32_t>(j));
      }
      if (hits.empty()) {
        ++counts.bubbles;
      } else {
        // Stage 5 and 6: kernel values, multipliers, accumulators.
        ++counts.steps;
        counts.kernel_value_reads += static_cast<std::int64_t>(hits.size());
        counts.executed += static_cast<std::int64_t>((end - first) * hits.size());
        issue(first, end, std::span<const std::uint32_t>(hits));
      }
      p = next;
    }
  }
  return counts;
}

}  // namespace lacuna::ant
