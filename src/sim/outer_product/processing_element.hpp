// The interface of an outer-product processing element: runs one (image, kernel) pair, computing its values
// (functional engine) or only counting its cycles (fast engine).
#pragma once

#include <cstdint>
#include <memory>

#include "base/add_counts.hpp"
#include "sim/outer_product/machine_config.hpp"
#include "sim/outer_product/planes.hpp"

namespace lacuna::outer_product {

// Everything that is counted for pairs, except pipe fill, which the machine adds.
struct PairCounts {
  std::int64_t pairs = 0;      // kernels with non-zeros, each with an image
  std::int64_t cartesian = 0;  // non-zeros of the image times non-zeros of the kernel
  std::int64_t useful = 0;     // functional engine only; the fast engine's comes from count_macs
  std::int64_t executed = 0;   // products multiplied
  std::int64_t steps = 0;      // cycles that issue products
  std::int64_t bubbles = 0;    // cycles that issue none (those of empty ranges included)
  std::int64_t ranges = 0;     // image vectors whose range was computed, empty ones included
  std::int64_t empty_ranges = 0;
  std::int64_t conflict_stalls = 0;
  // Buffer accesses, one element each.
  std::int64_t image_reads = 0;  // a value and its index
  std::int64_t kernel_value_reads = 0;
  std::int64_t kernel_index_reads = 0;
  std::int64_t row_pointer_reads = 0;

  std::int64_t cycles() const { return steps + bubbles + conflict_stalls; }

  PairCounts& operator+=(const PairCounts& other) { return add_counts(*this, other); }
  bool operator==(const PairCounts&) const = default;
};

// The fast engine's view of a block of work: some images that all pairs of the block draw from, and kernels
// that come one at a time. Not thread-safe; one per block.
//   start_images(2); add_nonzero(0, y, x) ... in CSR order for each image; end_images();
//   set_kernel(...); count(0, totals); count(1, totals); set_kernel(...); ...
class PairCounter {
 public:
  virtual ~PairCounter() = default;

  virtual void start_images(std::size_t images) = 0;
  virtual void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) = 0;
  virtual void end_images() = 0;
  virtual std::int64_t image_nonzeros(std::size_t image) const = 0;

  // A kernel, or several packed together (CsrPlane::append). The plane must outlive the counts.
  virtual void set_kernel(const CsrPlane& kernel) = 0;
  // The same for a kernel of at most 64 positions, bit r*cols + s.
  virtual void set_kernel_mask(std::uint64_t mask) = 0;

  // Adds the pair (image, current kernel) to `totals` and returns its cycles. Both have non-zeros.
  virtual std::int64_t count(std::size_t image, PairCounts& totals) = 0;
};

// Relation of a block's kernels to its images; a counter may prepare its images accordingly.
enum class KernelUse {
  kOnce,    // a kernel meets one image (forward, input gradient)
  kShared,  // a kernel meets all images (weight gradient, matrix multiplication)
};

class ImageSets;

class ProcessingElement {
 public:
  explicit ProcessingElement(const PeConfig& config) : has_banks_(config.banks > 0) {}
  virtual ~ProcessingElement() = default;

  // Multiplies one pair, value by value, in the order of the hardware. Both have non-zeros. The kernel may
  // be several that are packed together, if the machine packs them.
  virtual PairCounts execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                             const OutputPlane& output) const = 0;

  virtual std::unique_ptr<PairCounter> counter(const IndexMap& map, KernelUse use) const = 0;
  // Counts convolutions in bulk (image_sets.hpp); null if pairs must be looked at one by one.
  virtual std::unique_ptr<ImageSets> image_sets(const IndexMap& map) const = 0;
  // Returns false if a pair of planes with non-zeros may take zero cycles.
  virtual bool every_pair_takes_cycles() const { return true; }
  // True if image sets ask for KernelBatch::starts.
  virtual bool needs_starts() const { return false; }

  // True if count() looks at columns even where the column range is free (matrix multiplication).
  bool needs_columns() const { return has_banks_; }

  // Kernel indices that it can look at in a cycle before anything is multiplied; 0: it does not search.
  virtual std::int64_t search_window() const { return 0; }

 private:
  bool has_banks_;
};

}  // namespace lacuna::outer_product
