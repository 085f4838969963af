// ANT's fast engine: image vectors become ranges once; each kernel then answers ranges in closed form.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ant_pe.hpp"
#include "range_walk.hpp"

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

// With bank conflicts every step's products must be looked at: cycle by cycle, without values. What a pair
// takes is kept by image and kernel, where kernels are few: those of at most kMemoTaps positions, and those
// without zeros.
class AntConflictCounter final : public outer_product::PairCounter {
 public:
  AntConflictCounter(const AntPeConfig& config, const outer_product::IndexMap& map)
      : config_(config), map_(map), tally_(config.banks, map) {
    const std::int64_t taps = map.y.kernel * map.x.kernel;
    if (map.kind == outer_product::IndexMap::Kind::kConvolution && taps <= kMemoTaps)
      masks_ = std::size_t{1} << taps;
  }

  void start_images(std::size_t images) override {
    positions_.assign(images, {});
    memo_masks_ = images * masks_ <= kMemoEntries ? masks_ : 0;
    of_mask_.clear();
    of_mask_.resize(images * memo_masks_);
    of_full_.clear();
    of_full_.resize(images);
  }
  void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) override {
    positions_[image].push_back({static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)});
  }
  void end_images() override {}
  std::int64_t image_nonzeros(std::size_t image) const override {
    return static_cast<std::int64_t>(positions_[image].size());
  }
  void set_kernel(const outer_product::CsrPlane& kernel) override {
    kernel_ = &kernel;
    mask_ = 0;
    kernel_is_full_ = map_.kind == outer_product::IndexMap::Kind::kConvolution &&
                      kernel.nonzeros() == kernel.rows * kernel.cols;
  }
  void set_kernel_mask(std::uint64_t mask) override {
    from_mask_.assign_mask(mask, map_.y.kernel, map_.x.kernel);
    kernel_ = &from_mask_;
    mask_ = mask;
    kernel_is_full_ = false;
  }
  std::int64_t count(std::size_t image, outer_product::PairCounts& totals) override;

 private:
  static constexpr std::int64_t kMemoTaps = 9;
  static constexpr std::size_t kMemoEntries = 1 << 20;
  using Known = std::unique_ptr<outer_product::PairCounts>;

  outer_product::PairCounts run(std::size_t image);

  AntPeConfig config_;
  outer_product::IndexMap map_;
  outer_product::BankTally tally_;
  std::vector<std::vector<outer_product::Position>> positions_;
  const outer_product::CsrPlane* kernel_ = nullptr;
  outer_product::CsrPlane from_mask_;
  std::uint64_t mask_ = 0;  // of the kernel, if it came as one
  bool kernel_is_full_ = false;
  std::size_t masks_ = 0;       // that there can be, if few
  std::size_t memo_masks_ = 0;  // those, if a block has not too many images
  std::vector<Known> of_mask_;  // by image and mask
  std::vector<Known> of_full_;  // by image
};

}  // namespace lacuna::ant
