// The SCNN-like processing element: a stationary vector of image non-zeros meets every vector of the kernel's
// [SCNN §3, §4; ANT talk: 3 stages, buffers -> multipliers and output indices -> accumulators].
#pragma once

#include "sim/outer_product/processing_element.hpp"

namespace lacuna {

struct ScnnPeConfig {
  std::int64_t image_lanes = 4;
  std::int64_t kernel_lanes = 4;
  std::int64_t banks = 0;  // 0: conflicts at the accumulators cost nothing
};

class ScnnPe final : public outer::ProcessingElement {
 public:
  explicit ScnnPe(const ScnnPeConfig& config) : config_(config) {}

  outer::PairCounts execute(const outer::CsrPlane& image, const outer::CsrPlane& kernel,
                            const outer::IndexMap& map, const outer::OutputPlane& output) const override;
  std::unique_ptr<outer::PairCounter> counter(const outer::IndexMap& map,
                                              outer::KernelUse use) const override;
  bool needs_columns() const override { return config_.banks > 0; }

 private:
  ScnnPeConfig config_;
};

}  // namespace lacuna
