// ANT's fast engine: image vectors become ranges once; each kernel then answers ranges in closed form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ant_pe.hpp"
#include "sim/outer_product/planes.hpp"
#include "sim/outer_product/repeated_pairs.hpp"

namespace lacuna::ant {

// Cost of one image vector: the first-n-in-range search over a whole range in closed form, without looking
// at columns one by one.
struct RangeWalk {
  std::int64_t steps = 0;    // cycles that issue
  std::int64_t bubbles = 0;  // cycles that see indices but none in range
  std::int64_t hits = 0;     // kernel non-zeros issued
  std::int64_t seen = 0;     // kernel indices read
};

// All positions first..end-1 are in range (matrix multiplication, or a range over all columns): each cycle
// issues min(n, window) of them.
inline RangeWalk walk_all(std::int64_t count, std::int64_t n, std::int64_t window) {
  RangeWalk walk;
  if (count == 0) return walk;
  const std::int64_t stride = std::min(n, window);
  walk.steps = (count + stride - 1) / stride;
  walk.hits = count;
  // Cycle i sees min(window, count - i*stride) indices; the first `whole` cycles see a full window.
  const std::int64_t whole = count >= window ? (count - window) / stride + 1 : 0;
  const std::int64_t rest = walk.steps - whole;
  walk.seen = whole * window + rest * count - stride * (whole + walk.steps - 1) * rest / 2;
  return walk;
}

// The rule of step 4 (docs/models/ant.md) on intervals of hits: a cycle looks at `window` positions from p
// and issues the first n hits; p moves to the (n+1)-th if the window has one, else by `window`.
template <typename Starts>  // as ColumnStarts
RangeWalk walk_range(const Starts& starts, std::int64_t r0, std::int64_t r1, std::size_t s0, std::size_t s1,
                     std::int64_t n, std::int64_t window) {
  RangeWalk walk;
  std::int64_t p = starts.row(r0)[0];
  const std::int64_t end = starts.row(r1)[starts.columns()];
  const std::int64_t length = end - p;
  if (length == 0) return walk;
  if (length <= window) {  // one window sees all: the common case of a sparse kernel
    std::int64_t hits = 0;
    for (std::int64_t r = r0; r <= r1; ++r) hits += starts.row(r)[s1 + 1] - starts.row(r)[s0];
    if (hits <= n) return {hits > 0 ? 1 : 0, hits > 0 ? 0 : 1, hits, length};
  }
  std::int64_t held = 0;  // hits issued from the window at p
  for (std::int64_t r = r0; r <= r1; ++r) {
    std::int64_t a = starts.row(r)[s0];
    const std::int64_t b = starts.row(r)[s1 + 1];
    walk.hits += b - a;
    while (a < b) {
      if (a >= p + window) {  // the window ends before the next hit
        ++(held > 0 ? walk.steps : walk.bubbles);
        walk.seen += window;
        p += window;
        held = 0;
        if (a >= p + window) {
          const std::int64_t skipped = (a - p) / window;
          walk.bubbles += skipped;
          walk.seen += skipped * window;
          p += skipped * window;
        }
      } else if (held == n) {  // a is the (n+1)-th
        ++walk.steps;
        walk.seen += std::min(window, end - p);
        p = a;
        held = 0;
      }
      const std::int64_t taken = std::min(n - held, std::min(b, p + window) - a);
      held += taken;
      a += taken;
    }
  }
  if (held > 0) {
    ++walk.steps;
    walk.seen += std::min(window, end - p);
    p += window;
  }
  if (p < end) {
    walk.bubbles += (end - p + window - 1) / window;
    walk.seen += end - p;
  }
  return walk;
}

// Where the kernels of a block are small and many (forward, input gradient) the ranges of an image repeat, so
// equal ones are counted together; and where a kernel has at most kMemoTaps positions, what a range costs is
// kept by the kernel's mask. In the weight gradient a kernel is a plane of G that meets all images: its
// column starts are built once and each range is a handful of subtractions.
class AntCounter final : public PairCounter {
 public:
  AntCounter(const AntPeConfig& config, const IndexMap& map, KernelUse use);

  void start_images(std::size_t images) override;
  void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) override;
  void end_images() override;
  std::int64_t image_nonzeros(std::size_t image) const override { return images_[image].nonzeros; }
  void set_kernel(const CsrPlane& kernel) override;
  void set_kernel_mask(std::uint64_t mask) override;
  std::int64_t count(std::size_t image, PairCounts& totals) override;

 private:
  static constexpr std::int64_t kMemoTaps = 9;

  struct Range {
    std::uint32_t r0, r1, s0, s1;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the comparison's own 0 for a null pointer
    auto operator<=>(const Range&) const = default;
  };
  struct RangeRun {  // image vectors with the same range
    Range range;
    std::uint32_t vectors;
    std::uint32_t elements;
  };
  struct Image {
    std::vector<RangeRun> runs;  // of ranges that are not empty
    std::int64_t nonzeros = 0;
    std::int64_t outside = 0;  // vectors that no kernel position can be useful to
    // The vector being filled.
    std::uint32_t held = 0;
    std::uint32_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  };
  struct MemoWalk {
    std::uint8_t steps, bubbles, hits, seen;
    bool known;
  };
  struct Sums {
    std::int64_t steps = 0, bubbles = 0, empty = 0, hits = 0, seen = 0, executed = 0, vectors = 0;
  };

  void finish_vector(Image& image);
  void merge_equal_ranges(Image& image);
  std::size_t memo_index(const Range& range) const {
    return ((range.r0 * static_cast<std::size_t>(map_.y.kernel) + range.r1) *
                static_cast<std::size_t>(map_.x.kernel) +
            range.s0) *
               static_cast<std::size_t>(map_.x.kernel) +
           range.s1;
  }
  RangeWalk walk(const Range& range) const;
  template <typename CostOf>
  static Sums sum(const Image& image, const CostOf& cost_of);
  Sums sum_walks(const Image& image) const;
  Sums sum_memo(const Image& image);

  AntPeConfig config_;
  IndexMap map_;
  KernelUse use_;
  std::vector<std::uint32_t> first_r_, end_r_, first_s_, end_s_;  // ranges by image position (convolution)
  std::vector<Image> images_;

  const CsrPlane* kernel_ = nullptr;
  std::int64_t kernel_nonzeros_ = 0;
  CsrPlane from_mask_;
  outer_product::ColumnStarts starts_;
  std::vector<MemoWalk> memo_;  // [mask][range]
  std::uint64_t mask_ = 0;      // of the kernel, while memo_ answers
  bool starts_follow_mask_ = false;
  bool kernel_is_full_ = false;
  // Sums of each image against a kernel without zeros: behind batch norm all kernels of a weight gradient
  // are. Without it ResNet-50's take ten times as long (19.2 s of CPU time instead of 1.9 s).
  std::vector<std::optional<Sums>> full_sums_;
};

// With bank conflicts every step's products must be looked at: cycle by cycle, without values.
class AntConflictCounter final : public outer_product::RepeatedPairs {
 public:
  AntConflictCounter(const AntPeConfig& config, const IndexMap& map)
      : RepeatedPairs(map), config_(config), tally_(config.banks, map) {}

 private:
  PairCounts look_at(const std::vector<Position>& image, const CsrPlane& kernel) override;

  AntPeConfig config_;
  outer_product::BankTally tally_;
};

}  // namespace lacuna::ant
