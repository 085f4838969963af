#include "ant_counter.hpp"

#include <bit>

#include "ant_steps.hpp"

namespace lacuna::ant {

AntCounter::AntCounter(const AntPeConfig& config, const IndexMap& map, KernelUse use)
    : config_(config), map_(map), use_(use) {
  if (map.kind == IndexMap::Kind::kMatrix) return;
  // The end is one past the last kernel position, so that "none" (a last below 0) is not negative.
  const auto table = [](const outer_product::AxisMap& axis, std::vector<std::uint32_t>& first,
                        std::vector<std::uint32_t>& end) {
    for (std::int64_t t = 0; t < axis.image; ++t) {
      first.push_back(static_cast<std::uint32_t>(axis.first_kernel(t)));
      end.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(0, axis.last_kernel(t) + 1)));
    }
  };
  table(map.y, first_r_, end_r_);
  table(map.x, first_s_, end_s_);
  if (use == KernelUse::kOnce && map.y.kernel * map.x.kernel <= kMemoTaps) {
    const auto taps = static_cast<std::size_t>(map.y.kernel * map.x.kernel);
    memo_.assign((std::size_t{1} << taps) * taps * taps, MemoWalk{});
  }
}

void AntCounter::start_images(std::size_t images) {
  images_.assign(images, {});
  full_sums_.assign(images, std::nullopt);
}

void AntCounter::add_nonzero(std::size_t index, std::int64_t y, std::int64_t x) {
  Image& image = images_[index];
  const auto row = static_cast<std::uint32_t>(y);
  const auto column = static_cast<std::uint32_t>(x);
  if (image.held == 0) {
    image.y0 = row;
    image.x0 = image.x1 = column;
  }
  image.y1 = row;
  image.x0 = std::min(image.x0, column);
  image.x1 = std::max(image.x1, column);
  ++image.nonzeros;
  if (++image.held == config_.image_lanes) finish_vector(image);
}

void AntCounter::finish_vector(Image& image) {
  Range range;
  if (map_.kind == IndexMap::Kind::kMatrix) {
    range = {image.y0, image.y1, 0, static_cast<std::uint32_t>(map_.x.kernel - 1)};
  } else {
    range = {first_r_[image.y0], end_r_[image.y1], first_s_[image.x0], end_s_[image.x1]};
    if (range.r0 >= range.r1 || range.s0 >= range.s1) {  // still one past
      ++image.outside;
      image.held = 0;
      return;
    }
    --range.r1;
    --range.s1;
  }
  if (!image.runs.empty() && image.runs.back().range == range) {
    ++image.runs.back().vectors;
    image.runs.back().elements += image.held;
  } else {
    image.runs.push_back({range, 1, image.held});
  }
  image.held = 0;
}

void AntCounter::end_images() {
  for (Image& image : images_) {
    if (image.held > 0) finish_vector(image);
    if (use_ == KernelUse::kOnce) merge_equal_ranges(image);
    image.runs.shrink_to_fit();
  }
}

void AntCounter::merge_equal_ranges(Image& image) {
  std::ranges::sort(image.runs, {}, &RangeRun::range);
  std::size_t kept = 0;
  for (const RangeRun& run : image.runs) {
    if (kept > 0 && image.runs[kept - 1].range == run.range) {
      image.runs[kept - 1].vectors += run.vectors;
      image.runs[kept - 1].elements += run.elements;
    } else {
      image.runs[kept++] = run;
    }
  }
  image.runs.resize(kept);
}

void AntCounter::set_kernel(const CsrPlane& kernel) {
  kernel_ = &kernel;
  kernel_nonzeros_ = kernel.nonzeros();
  mask_ = 0;
  // A full plane of the same size as another is the same plane; matrices are cut into blocks of two widths.
  kernel_is_full_ =
      map_.kind == IndexMap::Kind::kConvolution && kernel_nonzeros_ == kernel.rows * kernel.cols;
  if (map_.kind == IndexMap::Kind::kConvolution) starts_.build(kernel);
}

void AntCounter::set_kernel_mask(std::uint64_t mask) {
  kernel_nonzeros_ = std::popcount(mask);
  mask_ = memo_.empty() ? 0 : mask;
  kernel_is_full_ = false;
  starts_follow_mask_ = false;
  if (!memo_.empty()) return;  // built only if the memo has no answer
  from_mask_.assign_mask(mask, map_.y.kernel, map_.x.kernel);
  starts_.build(from_mask_);
}

RangeWalk AntCounter::walk(const Range& range) const {
  if (map_.kind == IndexMap::Kind::kMatrix) {
    return walk_all(kernel_->ptr[range.r1 + 1] - kernel_->ptr[range.r0], config_.kernel_lanes,
                    config_.window);
  }
  return walk_range(starts_, range.r0, range.r1, range.s0, range.s1, config_.kernel_lanes, config_.window);
}

// `cost_of(range)`: what a vector of that range costs.
template <typename CostOf>
AntCounter::Sums AntCounter::sum(const Image& image, const CostOf& cost_of) {
  Sums sums;
  for (const RangeRun& run : image.runs) {
    const auto& one = cost_of(run.range);
    sums.steps += std::int64_t{run.vectors} * one.steps;
    sums.bubbles += std::int64_t{run.vectors} * one.bubbles;
    sums.empty += one.steps + one.bubbles == 0 ? run.vectors : 0;
    sums.hits += std::int64_t{run.vectors} * one.hits;
    sums.seen += std::int64_t{run.vectors} * one.seen;
    sums.executed += std::int64_t{run.elements} * one.hits;
    sums.vectors += run.vectors;
  }
  return sums;
}

AntCounter::Sums AntCounter::sum_walks(const Image& image) const {
  return sum(image, [&](const Range& range) { return walk(range); });
}

AntCounter::Sums AntCounter::sum_memo(const Image& image) {
  const auto taps = static_cast<std::size_t>(map_.y.kernel * map_.x.kernel);
  MemoWalk* memo = memo_.data() + mask_ * taps * taps;
  return sum(image, [&](const Range& range) -> const MemoWalk& {
    MemoWalk& one = memo[memo_index(range)];
    if (one.known) return one;
    if (!starts_follow_mask_) {
      from_mask_.assign_mask(mask_, map_.y.kernel, map_.x.kernel);
      starts_.build(from_mask_);
      starts_follow_mask_ = true;
    }
    // At most 9 indices: no count exceeds 9 cycles that see 9 each.
    const RangeWalk found = walk(range);
    return one = {static_cast<std::uint8_t>(found.steps), static_cast<std::uint8_t>(found.bubbles),
                  static_cast<std::uint8_t>(found.hits), static_cast<std::uint8_t>(found.seen), true};
  });
}

std::int64_t AntCounter::count(std::size_t index, PairCounts& totals) {
  const Image& image = images_[index];
  std::optional<Sums>& full = full_sums_[index];
  if (kernel_is_full_ && !full) full = sum_walks(image);
  const Sums sums = mask_ != 0 ? sum_memo(image) : kernel_is_full_ ? *full : sum_walks(image);
  const std::int64_t empty = sums.empty + image.outside;
  const std::int64_t bubbles = sums.bubbles + empty * config_.empty_cost;
  totals.pairs += 1;
  totals.cartesian += image.nonzeros * kernel_nonzeros_;
  totals.executed += sums.executed;
  totals.steps += sums.steps;
  totals.bubbles += bubbles;
  totals.ranges += sums.vectors + image.outside;
  totals.empty_ranges += empty;
  totals.image_reads += image.nonzeros;
  totals.kernel_value_reads += sums.hits;
  totals.kernel_index_reads += sums.seen;
  totals.row_pointer_reads += 2 * sums.vectors;
  return sums.steps + bubbles;
}

PairCounts AntConflictCounter::look_at(const std::vector<Position>& image, const CsrPlane& kernel) {
  std::int64_t stalls = 0;
  const auto tally = [&](std::size_t first, std::size_t end, std::span<const std::uint32_t> hits) {
    for (std::size_t i = first; i < end; ++i) {
      for (const std::uint32_t j : hits) {
        const IndexMap::Output at = map().output(image[i].y, image[i].x, kernel.row[j], kernel.col[j]);
        if (at.valid()) tally_.add(at);
      }
    }
    stalls += tally_.finish_step();
  };
  PairCounts counts = run_ant_pair(
      config_, map(), image.size(), [&](std::size_t i) { return image[i]; }, kernel, tally);
  counts.conflict_stalls = stalls;
  return counts;
}

}  // namespace lacuna::ant
