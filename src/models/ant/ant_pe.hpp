// ANT's processing element: before anything is multiplied, a range of kernel rows (r) and columns (s) is
// derived for each vector of image non-zeros, and only kernel non-zeros in that range are issued [ANT
// abstract; talk (FastPath 2022): 6 stages]. The detailed rules are derived: docs/models/ant.md.
#pragma once

#include "sim/outer_product/processing_element.hpp"

namespace lacuna::ant {

struct AntPeConfig {
  std::int64_t image_lanes = 4;
  std::int64_t kernel_lanes = 4;
  std::int64_t window = 16;     // k, ASSUMPTION(N2): indices the first-n-in-range search sees in a cycle
  std::int64_t empty_cost = 1;  // cycles of an image vector with nothing in its range
  std::int64_t banks = 0;       // 0: conflicts at the accumulators cost nothing
};

class AntPe final : public outer_product::ProcessingElement {
 public:
  explicit AntPe(const AntPeConfig& config) : config_(config) {}

  outer_product::PairCounts execute(const outer_product::CsrPlane& image,
                                    const outer_product::CsrPlane& kernel, const outer_product::IndexMap& map,
                                    const outer_product::OutputPlane& output) const override;
  std::unique_ptr<outer_product::PairCounter> counter(const outer_product::IndexMap& map,
                                                      outer_product::KernelUse use) const override;
  bool needs_columns() const override { return config_.banks > 0; }
  std::int64_t search_window() const override { return config_.window; }

 private:
  AntPeConfig config_;
};

}  // namespace lacuna::ant
