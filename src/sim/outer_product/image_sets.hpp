// Counts pairs in bulk: the cost of a pair is a sum over the vectors of its image, so images whose pairs with
// a kernel run on the same PE are counted as one set, against several kernels at once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/vector_clones.hpp"
#include "sim/outer_product/processing_element.hpp"

namespace lacuna::outer_product {

// Kernels side by side, one per 32-bit lane of a 64-byte vector. Lanes without a kernel have no non-zeros.
struct KernelBatch {
  static constexpr std::int64_t kLanes = 16;
  using Vector = WideVector<std::int32_t>;

  std::int64_t rows = 0, cols = 0;
  std::array<std::int64_t, kLanes> nonzeros{};
  std::array<std::int64_t, kLanes> times{};  // equal kernels that a lane stands for
  // ColumnStarts of all lanes, if the PE asks for them: at [r * (cols + 1) + x].
  std::vector<std::array<std::int32_t, kLanes>> starts;
};

class ImageSets {
 public:
  virtual ~ImageSets() = default;

  // Forgets all sets. For each: start_set(); add_image(...) for each image with non-zeros; end_set().
  virtual void clear() = 0;
  virtual void start_set() = 0;
  // The non-zeros of an image in CSR order, at least one.
  virtual void add_image(std::span<const Position> nonzeros) = 0;
  virtual void end_set() = 0;

  // Returns for each lane the cycles of its kernel's pairs with all images of the set. Adds to `totals` the
  // pairs of `sets` equal sets with all kernels that the lanes stand for.
  using LaneCycles = std::array<std::int64_t, KernelBatch::kLanes>;
  virtual LaneCycles count(std::size_t set, const KernelBatch& batch, std::int64_t sets,
                           PairCounts& totals) const = 0;
};

}  // namespace lacuna::outer_product
