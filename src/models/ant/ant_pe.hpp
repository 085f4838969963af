// ANT's processing element: before anything is multiplied, a range of kernel rows (r) and columns (s) is
// derived for each vector of image non-zeros, and only kernel non-zeros in that range are issued [ANT
// abstract; talk (FastPath 2022): 6 stages]. The detailed rules are derived: docs/models/ant.md.
#pragma once

#include "sim/outer_product/processing_element.hpp"

namespace lacuna::ant {

using outer_product::CsrPlane, outer_product::IndexMap, outer_product::KernelUse, outer_product::OutputPlane;
using outer_product::PairCounter, outer_product::PairCounts, outer_product::Position;

struct AntPeConfig : outer_product::PeConfig {
  std::int64_t window = 16;     // k, ASSUMPTION(N2): indices the first-n-in-range search sees in a cycle
  std::int64_t empty_cost = 1;  // cycles of an image vector with nothing in its range
};

class AntPe final : public outer_product::ProcessingElement {
 public:
  explicit AntPe(const AntPeConfig& config) : ProcessingElement(config), config_(config) {}

  PairCounts execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                     const OutputPlane& output) const override;
  std::unique_ptr<PairCounter> counter(const IndexMap& map, KernelUse use) const override;
  std::unique_ptr<outer_product::ImageSets> image_sets(const IndexMap& map) const override;
  bool every_pair_takes_cycles() const override { return config_.empty_cost > 0; }
  bool needs_starts() const override { return true; }
  std::int64_t search_window() const override { return config_.window; }

 private:
  AntPeConfig config_;
};

}  // namespace lacuna::ant
