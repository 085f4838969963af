#include "ant_sets.hpp"

#include <algorithm>

#include "base/cpu.hpp"
#include "range_search.hpp"

namespace lacuna::ant {
namespace {

using outer_product::KernelBatch;
constexpr std::int64_t kMostSum = 1 << 30;  // of a range's counts, in 32 bits

}  // namespace

void search_ranges(std::span<const RangeVectors> ranges, const KernelBatch& batch, std::int32_t n,
                   std::int32_t window, SearchSums& sums) {
  static const RangeSearch search =
      LACUNA_OF_ISA(best_isa(), kRangeSearchPortable, kRangeSearchAvx2, kRangeSearchAvx512);
  // Sums of as many ranges as 32 bits hold for certain.
  const std::int64_t positions = batch.rows * batch.cols;
  while (!ranges.empty()) {
    std::size_t count = 0;
    for (std::int64_t bound = 0; count < ranges.size(); ++count) {
      bound += ranges[count].elements * positions * (window + 2);
      if (bound > kMostSum && count > 0) break;
    }
    search(ranges.first(count), batch, n, window, sums);
    ranges = ranges.subspan(count);
  }
}

AntSets::Axis::Axis(const outer_product::AxisMap& map) {
  // The end is one past the last kernel position, so that "none" (a last below 0) is not negative.
  for (std::int64_t t = 0; t < map.image; ++t) {
    first.push_back(static_cast<std::uint32_t>(map.first_kernel(t)));
    end.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(0, map.last_kernel(t) + 1)));
  }
}

AntSets::AntSets(const AntPeConfig& config, const IndexMap& map, std::int64_t window)
    : window_(window),
      config_(config),
      y_(map.y),
      x_(map.x),
      rows_(static_cast<std::uint32_t>(map.y.kernel)),
      cols_(static_cast<std::uint32_t>(map.x.kernel)),
      most_elements_(static_cast<std::int32_t>(kMostSum / ((window + 2) * map.y.kernel * map.x.kernel))) {
  constexpr std::uint64_t kMostPlaces = 1 << 16;
  const std::uint64_t positions = std::uint64_t{rows_} * cols_;
  if (positions * positions <= kMostPlaces) place_.assign(positions * positions, 0);
}

std::unique_ptr<AntSets> AntSets::make(const AntPeConfig& config, const IndexMap& map) {
  constexpr std::int64_t kMostPositions = 1 << 18;  // of Divisor
  const std::int64_t positions = map.y.kernel * map.x.kernel;
  const std::int64_t window = std::min(config.window, positions);
  if (map.kind != IndexMap::Kind::kConvolution || positions > kMostPositions) return nullptr;
  if ((window + 2) * positions * config.image_lanes > kMostSum) return nullptr;
  return std::unique_ptr<AntSets>(new AntSets(config, map, window));
}

void AntSets::clear() {
  ranges_.clear();
  sets_.clear();
}

void AntSets::start_set() {
  sets_.emplace_back();
  sets_.back().first = ranges_.size();
}

void AntSets::add_image(std::span<const Position> nonzeros) {
  Set& set = sets_.back();
  ++set.images;
  set.nonzeros += std::ssize(nonzeros);
  const auto lanes = static_cast<std::size_t>(config_.image_lanes);
  for (std::size_t first = 0; first < nonzeros.size(); first += lanes) {
    const std::size_t end = std::min(first + lanes, nonzeros.size());
    std::uint32_t x0 = nonzeros[first].x, x1 = x0;
    for (std::size_t i = first + 1; i < end; ++i) {
      x0 = std::min(x0, nonzeros[i].x);
      x1 = std::max(x1, nonzeros[i].x);
    }
    const std::uint32_t r0 = y_.first[nonzeros[first].y], r1 = y_.end[nonzeros[end - 1].y];
    const std::uint32_t s0 = x_.first[x0], s1 = x_.end[x1];
    if (r0 >= r1 || s0 >= s1) {
      ++set.outside;
    } else {
      ++set.vectors;
      add_vector({r0, r1 - 1, s0, s1 - 1, 1, static_cast<std::int32_t>(end - first)});
    }
  }
}

void AntSets::add_vector(const RangeVectors& range) {
  const auto merge = [&](RangeVectors& known) {
    known.vectors += range.vectors;
    known.elements += range.elements;
  };
  if (!place_.empty()) {
    std::uint32_t& place = place_[((range.r0 * rows_ + range.r1) * cols_ + range.s0) * cols_ + range.s1];
    if (place > 0 && ranges_[place - 1].elements + range.elements <= most_elements_)
      return merge(ranges_[place - 1]);
    ranges_.push_back(range);
    place = static_cast<std::uint32_t>(ranges_.size());
    return;
  }
  if (ranges_.size() > sets_.back().first) {
    RangeVectors& last = ranges_.back();
    if (last.r0 == range.r0 && last.r1 == range.r1 && last.s0 == range.s0 && last.s1 == range.s1 &&
        last.elements + range.elements <= most_elements_)
      return merge(last);
  }
  ranges_.push_back(range);
}

void AntSets::end_set() {
  Set& set = sets_.back();
  set.end = ranges_.size();
  if (place_.empty()) return;
  for (std::size_t i = set.first; i < set.end; ++i) {
    const RangeVectors& range = ranges_[i];
    place_[((range.r0 * rows_ + range.r1) * cols_ + range.s0) * cols_ + range.s1] = 0;
  }
}

AntSets::LaneCycles AntSets::count(std::size_t index, const KernelBatch& batch, std::int64_t sets,
                                   PairCounts& totals) const {
  const Set& set = sets_[index];
  SearchSums sums;
  search_ranges({ranges_.data() + set.first, set.end - set.first}, batch,
                static_cast<std::int32_t>(config_.kernel_lanes), static_cast<std::int32_t>(window_), sums);
  LaneCycles cycles{};
  for (std::size_t l = 0; l < cycles.size(); ++l) {
    const std::int64_t times = sets * batch.times[l];
    const std::int64_t empty = sums.empty[l] + set.outside;
    const std::int64_t bubbles = sums.bubbles[l] + empty * config_.empty_cost;
    cycles[l] = sums.steps[l] + bubbles;
    totals.pairs += times * set.images;
    totals.cartesian += times * set.nonzeros * batch.nonzeros[l];
    totals.executed += times * sums.executed[l];
    totals.steps += times * sums.steps[l];
    totals.bubbles += times * bubbles;
    totals.ranges += times * (set.vectors + set.outside);
    totals.empty_ranges += times * empty;
    totals.image_reads += times * set.nonzeros;
    totals.kernel_value_reads += times * sums.hits[l];
    totals.kernel_index_reads += times * sums.seen[l];
    totals.row_pointer_reads += times * 2 * set.vectors;
  }
  return cycles;
}

}  // namespace lacuna::ant
