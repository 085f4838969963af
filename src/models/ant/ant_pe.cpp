#include "ant_pe.hpp"

#include <span>

#include "ant_counter.hpp"
#include "ant_sets.hpp"
#include "ant_steps.hpp"

namespace lacuna::ant {

PairCounts AntPe::execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                          const OutputPlane& output) const {
  outer_product::BankTally tally(std::max<std::int64_t>(1, config_.banks), map);
  const auto position = [&](std::size_t i) { return Position{image.row[i], image.col[i]}; };
  PairCounts counts;
  std::int64_t stalls = 0;
  const auto multiply = [&](std::size_t first, std::size_t end, std::span<const std::uint32_t> hits) {
    for (std::size_t i = first; i < end; ++i) {
      for (const std::uint32_t j : hits) {
        const float product = image.value[i] * kernel.value[j];
        const IndexMap::Output at = map.output(image.row[i], image.col[i], kernel.row[j], kernel.col[j]);
        if (!at.valid() || !output.needs(at)) continue;  // a residual RCP
        ++counts.useful;
        output.add(at, product);
        tally.add(at);
      }
    }
    stalls += tally.finish_step();
  };
  counts +=
      run_ant_pair(config_, map, static_cast<std::size_t>(image.nonzeros()), position, kernel, multiply);
  if (config_.banks > 0) counts.conflict_stalls = stalls;
  return counts;
}

std::unique_ptr<PairCounter> AntPe::counter(const IndexMap& map, KernelUse use) const {
  if (config_.banks > 0) return std::make_unique<AntConflictCounter>(config_, map);
  return std::make_unique<AntCounter>(config_, map, use);
}

std::unique_ptr<outer_product::ImageSets> AntPe::image_sets(const IndexMap& map) const {
  return config_.banks > 0 ? nullptr : AntSets::make(config_, map);
}

}  // namespace lacuna::ant
