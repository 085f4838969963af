#include "scnn_pe.hpp"

#include <bit>
#include <optional>

#include "base/ceil_div.hpp"

namespace lacuna {
namespace {

using outer::BankTally;
using outer::CsrPlane;
using outer::IndexMap;
using outer::KernelRange;
using outer::PairCounts;
using outer::Position;

// Counts that follow from the numbers of non-zeros alone: every image vector meets every kernel vector.
PairCounts closed_form(std::int64_t image, std::int64_t kernel, const ScnnPeConfig& config) {
  const std::int64_t groups = ceil_div(image, config.image_lanes);
  PairCounts counts;
  counts.pairs = 1;
  counts.cartesian = counts.executed = image * kernel;
  counts.steps = groups * ceil_div(kernel, config.kernel_lanes);
  counts.image_reads = image;
  counts.kernel_value_reads = counts.kernel_index_reads = groups * kernel;
  return counts;
}

class ScnnCounter final : public outer::PairCounter {
 public:
  ScnnCounter(const ScnnPeConfig& config, const IndexMap& map) : config_(config), map_(map) {
    if (config.banks > 0) tally_.emplace(config.banks, map);
  }

  void start_images(std::size_t images) override {
    nonzeros_.assign(images, 0);
    if (tally_) positions_.assign(images, {});
  }
  void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) override {
    ++nonzeros_[image];
    if (tally_) {
      positions_[image].push_back({static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)});
    }
  }
  void end_images() override {}
  std::int64_t image_nonzeros(std::size_t image) const override { return nonzeros_[image]; }

  void set_kernel(const CsrPlane& kernel) override {
    kernel_ = &kernel;
    kernel_nonzeros_ = kernel.nonzeros();
  }
  void set_kernel_mask(std::uint64_t mask) override {
    kernel_nonzeros_ = std::popcount(mask);
    if (!tally_) return;
    from_mask_.assign_mask(mask, map_.y.kernel, map_.x.kernel);
    kernel_ = &from_mask_;
  }

  std::int64_t count(std::size_t image, PairCounts& totals) override {
    PairCounts counts = closed_form(nonzeros_[image], kernel_nonzeros_, config_);
    if (tally_) counts.conflict_stalls = stalls(positions_[image]);
    totals += counts;
    return counts.cycles();
  }

 private:
  // Only kernel vectors with an element in the rows that the image vector can use may hold useful products;
  // all others take their one cycle.
  std::int64_t stalls(const std::vector<Position>& image) {
    std::int64_t sum = 0;
    const auto lanes = static_cast<std::size_t>(config_.image_lanes);
    const auto kernel_lanes = static_cast<std::size_t>(config_.kernel_lanes);
    const auto kernel_nonzeros = static_cast<std::size_t>(kernel_nonzeros_);
    for (std::size_t a = 0; a < image.size(); a += lanes) {
      const std::size_t end = std::min(a + lanes, image.size());
      const KernelRange range = map_.range(image[a].y, image[end - 1].y, 0, 0);
      if (range.r0 > range.r1) continue;
      const std::size_t first = kernel_->ptr[static_cast<std::size_t>(range.r0)];
      const std::size_t last = kernel_->ptr[static_cast<std::size_t>(range.r1) + 1];
      for (std::size_t b = first / kernel_lanes * kernel_lanes; b < last; b += kernel_lanes) {
        for (std::size_t i = a; i < end; ++i) {
          for (std::size_t j = b; j < std::min(b + kernel_lanes, kernel_nonzeros); ++j) {
            const IndexMap::Output at = map_.output(image[i].y, image[i].x, kernel_->row[j], kernel_->col[j]);
            if (at.valid()) tally_->add(at);
          }
        }
        sum += tally_->finish_step();
      }
    }
    return sum;
  }

  ScnnPeConfig config_;
  IndexMap map_;
  std::optional<BankTally> tally_;
  std::vector<std::int64_t> nonzeros_;
  std::vector<std::vector<Position>> positions_;  // only with banks
  const CsrPlane* kernel_ = nullptr;
  CsrPlane from_mask_;
  std::int64_t kernel_nonzeros_ = 0;
};

}  // namespace

PairCounts ScnnPe::execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                           const outer::OutputPlane& output) const {
  PairCounts counts;
  counts.pairs = 1;
  counts.cartesian = image.nonzeros() * kernel.nonzeros();
  BankTally tally(std::max<std::int64_t>(1, config_.banks), map);
  const auto image_end = static_cast<std::size_t>(image.nonzeros());
  const auto kernel_end = static_cast<std::size_t>(kernel.nonzeros());
  const auto image_lanes = static_cast<std::size_t>(config_.image_lanes);
  const auto kernel_lanes = static_cast<std::size_t>(config_.kernel_lanes);
  for (std::size_t a = 0; a < image_end; a += image_lanes) {
    const std::size_t a_end = std::min(a + image_lanes, image_end);
    counts.image_reads += static_cast<std::int64_t>(a_end - a);
    for (std::size_t b = 0; b < kernel_end; b += kernel_lanes) {
      const std::size_t b_end = std::min(b + kernel_lanes, kernel_end);
      counts.kernel_value_reads += static_cast<std::int64_t>(b_end - b);
      counts.kernel_index_reads += static_cast<std::int64_t>(b_end - b);
      ++counts.steps;
      for (std::size_t i = a; i < a_end; ++i) {
        for (std::size_t j = b; j < b_end; ++j) {
          ++counts.executed;
          const float product = image.value[i] * kernel.value[j];
          const IndexMap::Output at = map.output(image.row[i], image.col[i], kernel.row[j], kernel.col[j]);
          if (!at.valid()) continue;
          ++counts.useful;
          output.add(at, product);
          tally.add(at);
        }
      }
      const std::int64_t stall = tally.finish_step();
      if (config_.banks > 0) counts.conflict_stalls += stall;
    }
  }
  return counts;
}

std::unique_ptr<outer::PairCounter> ScnnPe::counter(const IndexMap& map, outer::KernelUse) const {
  return std::make_unique<ScnnCounter>(config_, map);
}

}  // namespace lacuna
