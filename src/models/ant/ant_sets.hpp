// ANT's convolutions in bulk: image vectors become ranges, equal ranges of a set are counted once, and the
// search runs over 16 kernels side by side. ant_counter.hpp counts the same one pair at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ant_pe.hpp"
#include "range_search.hpp"
#include "sim/outer_product/image_sets.hpp"

namespace lacuna::ant {

// Searches all ranges in all lanes. `n` kernel elements issue per cycle, of the `window` indices seen. Exact
// while window + 2 times the kernel's positions times a range's elements is at most 2^30.
void search_ranges(std::span<const RangeVectors> ranges, const outer_product::KernelBatch& batch,
                   std::int32_t n, std::int32_t window, SearchSums& sums);

class AntSets final : public outer_product::ImageSets {
 public:
  // Returns null if the sums of a search might not fit 32 bits.
  static std::unique_ptr<AntSets> make(const AntPeConfig& config, const IndexMap& map);

  void clear() override;
  void start_set() override;
  void add_image(std::span<const Position> nonzeros) override;
  void end_set() override;
  LaneCycles count(std::size_t index, const outer_product::KernelBatch& batch, std::int64_t sets,
                   PairCounts& totals) const override;

 private:
  AntSets(const AntPeConfig& config, const IndexMap& map, std::int64_t window);

  struct Axis {  // kernel positions first .. end-1 may meet an image position
    std::vector<std::uint32_t> first, end;
    explicit Axis(const outer_product::AxisMap& map);
  };
  struct Set {
    std::size_t first = 0, end = 0;  // of ranges_
    std::int64_t images = 0, nonzeros = 0;
    std::int64_t vectors = 0;  // with a range
    std::int64_t outside = 0;  // without any
  };
  void add_vector(const RangeVectors& range);

  // A larger window sees no more than the kernel.
  std::int64_t window_;
  AntPeConfig config_;
  Axis y_, x_;
  std::uint32_t rows_, cols_;   // of the kernel
  std::int32_t most_elements_;  // of a range
  std::vector<RangeVectors> ranges_;
  std::vector<Set> sets_;
  // Index of each range of the set that is being filled, where there are few: 0, or its place + 1.
  std::vector<std::uint32_t> place_;
};

}  // namespace lacuna::ant
