// The SCNN-like processing element: a stationary vector of image non-zeros meets every vector of the kernel's
// [SCNN §3, §4; ANT talk: 3 stages, buffers -> multipliers and output indices -> accumulators].
#pragma once

#include "sim/outer_product/processing_element.hpp"

namespace lacuna::scnn {

using outer_product::CsrPlane, outer_product::IndexMap, outer_product::KernelUse, outer_product::OutputPlane;
using outer_product::PairCounter, outer_product::PairCounts, outer_product::PeConfig;

class ScnnPe final : public outer_product::ProcessingElement {
 public:
  explicit ScnnPe(const PeConfig& config) : ProcessingElement(config), config_(config) {}

  PairCounts execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                     const OutputPlane& output) const override;
  std::unique_ptr<PairCounter> counter(const IndexMap& map, KernelUse use) const override;
  std::unique_ptr<outer_product::ImageSets> image_sets(const IndexMap& map) const override;

 private:
  PeConfig config_;
};

}  // namespace lacuna::scnn
