// The functional engine's PE: values meet, and sums of the useful products leave.
#include <algorithm>
#include <vector>

#include "base/ceil_div.hpp"
#include "scnn_pe.hpp"

namespace lacuna::scnn {
namespace {

using outer_product::BankTally;

// Products of image elements with a kernel that belong to an output, added there. The hardware multiplies and
// drops all the others; here they are only counted, since a plane of G has thousands of them for a useful one
// (a 1x1 convolution of 224x224 in the weight gradient: 50,000).
class UsefulProducts {
 public:
  UsefulProducts(const CsrPlane& kernel, const IndexMap& map, const OutputPlane& output)
      : kernel_(kernel), map_(map), output_(output) {}

  // Calls used(j, at, packed) for each product, with kernel element j of the packed-th kernel.
  template <typename Used>
  void add(std::int64_t y, std::int64_t x, float value, const Used& used) const {
    const outer_product::KernelRange range = map_.range(y, y, x, x);
    if (range.empty()) return;
    std::int64_t packed = 0;
    for (std::int64_t first = 0; first < kernel_.rows; first += map_.y.kernel, ++packed) {
      for (std::int64_t r = range.r0; r <= range.r1; ++r) {
        if (map_.kind == IndexMap::Kind::kConvolution && map_.y.output(y, r) < 0) continue;
        const auto row = kernel_.ptr.begin() + (first + r);
        const auto end = kernel_.col.begin() + row[1];
        auto at = std::lower_bound(kernel_.col.begin() + row[0], end, range.s0);
        for (; at != end && *at <= range.s1; ++at) {
          const IndexMap::Output to = map_.output(y, x, r, *at);
          if (!to.valid() || !output_.needs(to, packed)) continue;
          const auto j = static_cast<std::size_t>(at - kernel_.col.begin());
          output_.add(to, value * kernel_.value[j], packed);
          used(j, to, packed);
        }
      }
    }
  }

 private:
  const CsrPlane& kernel_;
  const IndexMap& map_;
  const OutputPlane& output_;
};

// Cycles that the useful products of one image vector wait for banks, step by step.
class StepConflicts {
 public:
  StepConflicts(const PeConfig& config, const IndexMap& map)
      : banks_(config.banks),
        lanes_(static_cast<std::size_t>(config.kernel_lanes)),
        tally_(std::max<std::int64_t>(1, config.banks), map) {}

  void add(std::size_t kernel_element, IndexMap::Output at, std::int64_t packed) {
    if (banks_ > 0) products_.push_back({kernel_element / lanes_, at, packed});
  }
  // Forgets the vector.
  std::int64_t finish_vector() {
    std::ranges::stable_sort(products_, {}, &Product::step);
    std::int64_t stalls = 0;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      tally_.add(products_[i].at, products_[i].packed);
      if (i + 1 == products_.size() || products_[i + 1].step != products_[i].step)
        stalls += tally_.finish_step();
    }
    products_.clear();
    return stalls;
  }

 private:
  struct Product {
    std::size_t step;
    IndexMap::Output at;
    std::int64_t packed;
  };
  std::int64_t banks_;
  std::size_t lanes_;
  BankTally tally_;
  std::vector<Product> products_;
};

}  // namespace

PairCounts ScnnPe::execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                           const OutputPlane& output) const {
  PairCounts counts;
  counts.pairs = kernel.kernels(map.y.kernel);
  counts.cartesian = image.nonzeros() * kernel.nonzeros();
  const UsefulProducts products(kernel, map, output);
  StepConflicts conflicts(config_, map);
  const auto lanes = static_cast<std::size_t>(config_.image_lanes);
  const auto image_end = static_cast<std::size_t>(image.nonzeros());
  for (std::size_t a = 0; a < image_end; a += lanes) {
    const std::size_t a_end = std::min(a + lanes, image_end);
    const auto held = static_cast<std::int64_t>(a_end - a);
    // The whole kernel passes by, one vector per step, and meets every element that is held.
    counts.image_reads += held;
    counts.kernel_value_reads += kernel.nonzeros();
    counts.kernel_index_reads += kernel.nonzeros();
    counts.steps += ceil_div(kernel.nonzeros(), config_.kernel_lanes);
    counts.executed += held * kernel.nonzeros();
    for (std::size_t i = a; i < a_end; ++i) {
      products.add(image.row[i], image.col[i], image.value[i],
                   [&](std::size_t j, IndexMap::Output at, std::int64_t packed) {
                     ++counts.useful;
                     conflicts.add(j, at, packed);
                   });
    }
    counts.conflict_stalls += conflicts.finish_vector();
  }
  return counts;
}

}  // namespace lacuna::scnn
