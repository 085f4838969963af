// ANT's fast engine: image vectors become ranges once; each kernel then answers ranges in closed form.
#pragma once

#include <optional>
#include <vector>

#include "ant_pe.hpp"
#include "range_walk.hpp"
#include "sim/outer_product/repeated_pairs.hpp"

namespace lacuna::ant {

// Where the kernels of a block are small and many (forward, input gradient) the ranges of an image repeat, so
// equal ones are counted together; and where a kernel has at most kMemoTaps positions, what a range costs is
// kept by the kernel's mask. In the weight gradient a kernel is a plane of G that meets all images: its
// column starts are built once and each range is a handful of subtractions.
class AntCounter final : public outer_product::PairCounter {
 public:
  AntCounter(const AntPeConfig& config, const outer_product::IndexMap& map, outer_product::KernelUse use);

  void start_images(std::size_t images) override;
  void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) override;
  void end_images() override;
  std::int64_t image_nonzeros(std::size_t image) const override { return images_[image].nonzeros; }
  void set_kernel(const outer_product::CsrPlane& kernel) override;
  void set_kernel_mask(std::uint64_t mask) override;
  std::int64_t count(std::size_t image, outer_product::PairCounts& totals) override;

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
  Sums sum_walks(const Image& image) const;
  const Sums& sum_full(std::size_t index);
  Sums sum_memo(const Image& image);

  AntPeConfig config_;
  outer_product::IndexMap map_;
  outer_product::KernelUse use_;
  std::vector<std::uint32_t> first_r_, end_r_, first_s_, end_s_;  // ranges by image position (convolution)
  std::vector<Image> images_;

  const outer_product::CsrPlane* kernel_ = nullptr;
  std::int64_t kernel_nonzeros_ = 0;
  outer_product::CsrPlane from_mask_;
  ColumnStarts starts_;
  std::vector<MemoWalk> memo_;  // [mask][range]
  std::uint64_t mask_ = 0;      // of the kernel, while memo_ answers
  bool starts_follow_mask_ = false;
  bool kernel_is_full_ = false;
  // Of each image, against a kernel without zeros: behind batch norm all kernels of a weight gradient are.
  // Without it ResNet-50's take ten times as long (19.2 s of CPU time instead of 1.9 s).
  std::vector<std::optional<Sums>> full_sums_;
};

// With bank conflicts every step's products must be looked at: cycle by cycle, without values.
class AntConflictCounter final : public outer_product::RepeatedPairs {
 public:
  AntConflictCounter(const AntPeConfig& config, const outer_product::IndexMap& map)
      : RepeatedPairs(map), config_(config), tally_(config.banks, map) {}

 private:
  outer_product::PairCounts look_at(const std::vector<outer_product::Position>& image,
                                    const outer_product::CsrPlane& kernel) override;

  AntPeConfig config_;
  outer_product::BankTally tally_;
};

}  // namespace lacuna::ant
