// The SCNN-like processing element: a stationary vector of image non-zeros meets every vector of the kernel's
// [SCNN §3, §4; ANT talk: 3 stages, buffers -> multipliers and output indices -> accumulators].
#pragma once

#include "sim/outer_product/processing_element.hpp"

namespace lacuna::scnn {

struct ScnnPeConfig {
  std::int64_t image_lanes = 4;
  std::int64_t kernel_lanes = 4;
  std::int64_t banks = 0;  // 0: conflicts at the accumulators cost nothing
};

class ScnnPe final : public outer_product::ProcessingElement {
 public:
  explicit ScnnPe(const ScnnPeConfig& config) : config_(config) {}

  outer_product::PairCounts execute(const outer_product::CsrPlane& image,
                                    const outer_product::CsrPlane& kernel, const outer_product::IndexMap& map,
                                    const outer_product::OutputPlane& output) const override;
  std::unique_ptr<outer_product::PairCounter> counter(const outer_product::IndexMap& map,
                                                      outer_product::KernelUse use) const override;
  bool needs_columns() const override { return config_.banks > 0; }

 private:
  ScnnPeConfig config_;
};

}  // namespace lacuna::scnn
