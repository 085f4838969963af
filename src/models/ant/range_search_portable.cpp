#include "ant_counter.hpp"
#include "range_search.hpp"

namespace lacuna::ant {
namespace {

// Column starts of one lane.
struct LaneStarts {
  struct Row {
    const std::int32_t* at;
    std::int32_t operator[](std::size_t x) const { return at[x * outer_product::KernelBatch::kLanes]; }
  };
  const std::int32_t* first;
  std::size_t cols;

  Row row(std::int64_t r) const { return {Row{first}.at + static_cast<std::size_t>(r) * stride()}; }
  std::size_t columns() const { return cols; }
  std::size_t stride() const { return (cols + 1) * outer_product::KernelBatch::kLanes; }
};

// Lane by lane: without vector comparisons and multiplications the search over lanes is slower.
void search(std::span<const RangeVectors> ranges, const outer_product::KernelBatch& batch, std::int32_t n,
            std::int32_t window, SearchSums& sums) {
  for (std::size_t l = 0; l < sums.steps.size(); ++l) {
    const LaneStarts starts{batch.starts.front().data() + l, static_cast<std::size_t>(batch.cols)};
    for (const RangeVectors& range : ranges) {
      const RangeWalk walk = walk_range(starts, range.r0, range.r1, range.s0, range.s1, n, window);
      sums.steps[l] += range.vectors * walk.steps;
      sums.bubbles[l] += range.vectors * walk.bubbles;
      sums.empty[l] += walk.steps + walk.bubbles == 0 ? range.vectors : 0;
      sums.hits[l] += range.vectors * walk.hits;
      sums.seen[l] += range.vectors * walk.seen;
      sums.executed[l] += range.elements * walk.hits;
    }
  }
}

}  // namespace

constinit const RangeSearch kRangeSearchPortable = search;

}  // namespace lacuna::ant
