#include "scnn_pe.hpp"

#include <algorithm>
#include <bit>

#include "base/ceil_div.hpp"
#include "sim/outer_product/image_sets.hpp"
#include "sim/outer_product/repeated_pairs.hpp"

namespace lacuna::scnn {
namespace {

using outer_product::BankTally, outer_product::KernelRange, outer_product::Position;

// Counts that follow from the numbers of non-zeros alone: every image vector meets every kernel vector.
PairCounts closed_form(std::int64_t image, std::int64_t kernel, std::int64_t kernels,
                       const PeConfig& config) {
  const std::int64_t groups = ceil_div(image, config.image_lanes);
  PairCounts counts;
  counts.pairs = kernels;
  counts.cartesian = counts.executed = image * kernel;
  counts.steps = groups * ceil_div(kernel, config.kernel_lanes);
  counts.image_reads = image;
  counts.kernel_value_reads = counts.kernel_index_reads = groups * kernel;
  return counts;
}

class ScnnCounter final : public PairCounter {
 public:
  ScnnCounter(const PeConfig& config, const IndexMap& map) : config_(config), map_(map) {}

  void start_images(std::size_t images) override { nonzeros_.assign(images, 0); }
  void add_nonzero(std::size_t image, std::int64_t, std::int64_t) override { ++nonzeros_[image]; }
  void end_images() override {}
  std::int64_t image_nonzeros(std::size_t image) const override { return nonzeros_[image]; }
  void set_kernel(const CsrPlane& kernel) override {
    kernel_nonzeros_ = kernel.nonzeros();
    kernels_ = kernel.kernels(map_.y.kernel);
  }
  void set_kernel_mask(std::uint64_t mask) override {
    kernel_nonzeros_ = std::popcount(mask);
    kernels_ = 1;
  }
  std::int64_t count(std::size_t image, PairCounts& totals) override {
    const PairCounts counts = closed_form(nonzeros_[image], kernel_nonzeros_, kernels_, config_);
    totals += counts;
    return counts.cycles();
  }

 private:
  PeConfig config_;
  IndexMap map_;
  std::vector<std::int64_t> nonzeros_;
  std::int64_t kernel_nonzeros_ = 0, kernels_ = 0;
};

// Only numbers of non-zeros matter: those of a set add up.
class ScnnSets final : public outer_product::ImageSets {
 public:
  explicit ScnnSets(const PeConfig& config) : config_(config) {}

  void clear() override { sets_.clear(); }
  void start_set() override { sets_.emplace_back(); }
  void add_image(std::span<const Position> nonzeros) override {
    Set& set = sets_.back();
    ++set.images;
    set.nonzeros += std::ssize(nonzeros);
    set.vectors += ceil_div(std::ssize(nonzeros), config_.image_lanes);
  }
  void end_set() override {}

  LaneCycles count(std::size_t index, const outer_product::KernelBatch& batch, std::int64_t sets,
                   PairCounts& totals) const override {
    const Set& set = sets_[index];
    LaneCycles cycles{};
    std::int64_t kernels = 0, kernel_nonzeros = 0, all_cycles = 0;
    for (std::size_t l = 0; l < cycles.size(); ++l) {
      cycles[l] = set.vectors * ceil_div(batch.nonzeros[l], config_.kernel_lanes);
      kernels += batch.times[l];
      kernel_nonzeros += batch.times[l] * batch.nonzeros[l];
      all_cycles += batch.times[l] * cycles[l];
    }
    totals.pairs += sets * set.images * kernels;
    totals.cartesian += sets * set.nonzeros * kernel_nonzeros;
    totals.executed += sets * set.nonzeros * kernel_nonzeros;
    totals.steps += sets * all_cycles;
    totals.image_reads += sets * set.nonzeros * kernels;
    totals.kernel_value_reads += sets * set.vectors * kernel_nonzeros;
    totals.kernel_index_reads += sets * set.vectors * kernel_nonzeros;
    return cycles;
  }

 private:
  struct Set {
    std::int64_t images = 0, nonzeros = 0, vectors = 0;
  };
  PeConfig config_;
  std::vector<Set> sets_;
};

// With banks every useful product matters, but only those: a step without any takes its one cycle.
class ScnnConflictCounter final : public outer_product::RepeatedPairs {
 public:
  ScnnConflictCounter(const PeConfig& config, const IndexMap& map)
      : RepeatedPairs(map), config_(config), tally_(config.banks, map) {
    if (map.kind != IndexMap::Kind::kConvolution) return;
    rows_ = spans(map.y);
    columns_ = spans(map.x);
  }

 private:
  // Kernel positions first..end-1 may meet an image position; the first at `at`, each further one
  // kernel_step before.
  struct Span {
    std::int64_t first, end;
    std::int64_t at;  // before it is divided by output_step
  };
  static std::vector<Span> spans(const outer_product::AxisMap& axis) {
    std::vector<Span> found;
    for (std::int64_t t = 0; t < axis.image; ++t) {
      const std::int64_t first = axis.first_kernel(t);
      found.push_back(
          {first, axis.last_kernel(t) + 1, axis.image_step * t + axis.offset - axis.kernel_step * first});
    }
    return found;
  }
  // Positions below 0 or beyond the last output do not occur.
  static std::int64_t output(const outer_product::AxisMap& axis, std::int64_t at) {
    if (axis.output_step == 1) return at;
    return at % axis.output_step == 0 ? at / axis.output_step : -1;
  }

  void prepare(const CsrPlane& kernel) override {
    if (map().kind == IndexMap::Kind::kConvolution) starts_.build(kernel);
  }

  PairCounts look_at(const std::vector<Position>& image, const CsrPlane& kernel) override {
    PairCounts counts =
        closed_form(std::ssize(image), kernel.nonzeros(), kernel.kernels(map().y.kernel), config_);
    counts.conflict_stalls = map().kind == IndexMap::Kind::kMatrix ? stalls_of_matrix(image, kernel)
                                                                   : stalls_of_plane(image, kernel);
    return counts;
  }

  // Useful products only, by the step they are in.
  std::int64_t stalls_of_plane(const std::vector<Position>& image, const CsrPlane& kernel) {
    std::int64_t sum = 0;
    const auto lanes = static_cast<std::size_t>(config_.image_lanes);
    for (std::size_t a = 0; a < image.size(); a += lanes) {
      products_.clear();
      for (std::size_t i = a; i < std::min(a + lanes, image.size()); ++i) {
        const Span& columns = columns_[image[i].x];
        if (columns.first >= columns.end) continue;
        for (std::int64_t k = 0; k < kernel.rows / map().y.kernel; ++k)
          add_products(kernel, k, rows_[image[i].y], columns);
      }
      if (products_.size() > 1) sum += stalls_of_vector();
    }
    return sum;
  }
  // Adds the products of an image element with one of the packed kernels.
  void add_products(const CsrPlane& kernel, std::int64_t k, const Span& rows, const Span& columns) {
    const auto lanes = static_cast<std::uint32_t>(config_.kernel_lanes);
    for (std::int64_t r = rows.first; r < rows.end; ++r) {
      const std::int64_t y = output(map().y, rows.at - (r - rows.first) * map().y.kernel_step);
      if (y < 0) continue;
      const std::uint32_t* starts = starts_.row(k * map().y.kernel + r);
      for (std::uint32_t j = starts[columns.first]; j < starts[columns.end]; ++j) {
        const std::int64_t x =
            output(map().x, columns.at - (kernel.col[j] - columns.first) * map().x.kernel_step);
        if (x >= 0) products_.push_back({j / lanes, {y, x}, k});
      }
    }
  }
  std::int64_t stalls_of_vector() {
    std::ranges::sort(products_, {}, &Product::step);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      tally_.add(products_[i].at, products_[i].kernel);
      if (i + 1 == products_.size() || products_[i + 1].step != products_[i].step)
        sum += tally_.finish_step();
    }
    return sum;
  }

  // Only kernel vectors with an element in the rows that the image vector can use may hold useful products;
  // all others take their one cycle.
  std::int64_t stalls_of_matrix(const std::vector<Position>& image, const CsrPlane& kernel) {
    std::int64_t sum = 0;
    const auto lanes = static_cast<std::size_t>(config_.image_lanes);
    const auto kernel_lanes = static_cast<std::size_t>(config_.kernel_lanes);
    const auto kernel_nonzeros = static_cast<std::size_t>(kernel.nonzeros());
    for (std::size_t a = 0; a < image.size(); a += lanes) {
      const std::size_t end = std::min(a + lanes, image.size());
      const KernelRange range = map().range(image[a].y, image[end - 1].y, 0, 0);
      if (range.r0 > range.r1) continue;
      const std::size_t first = kernel.ptr[static_cast<std::size_t>(range.r0)];
      const std::size_t last = kernel.ptr[static_cast<std::size_t>(range.r1) + 1];
      for (std::size_t b = first / kernel_lanes * kernel_lanes; b < last; b += kernel_lanes) {
        for (std::size_t i = a; i < end; ++i) {
          for (std::size_t j = b; j < std::min(b + kernel_lanes, kernel_nonzeros); ++j) {
            const IndexMap::Output at = map().output(image[i].y, image[i].x, kernel.row[j], kernel.col[j]);
            if (at.valid()) tally_.add(at);
          }
        }
        sum += tally_.finish_step();
      }
    }
    return sum;
  }

  struct Product {
    std::uint32_t step;
    IndexMap::Output at;
    std::int64_t kernel;
  };

  PeConfig config_;
  BankTally tally_;
  std::vector<Span> rows_, columns_;  // by image position (convolution)
  outer_product::ColumnStarts starts_;
  std::vector<Product> products_;  // of one image vector
};

}  // namespace

std::unique_ptr<PairCounter> ScnnPe::counter(const IndexMap& map, KernelUse) const {
  if (config_.banks > 0) return std::make_unique<ScnnConflictCounter>(config_, map);
  return std::make_unique<ScnnCounter>(config_, map);
}

std::unique_ptr<outer_product::ImageSets> ScnnPe::image_sets(const IndexMap&) const {
  return config_.banks > 0 ? nullptr : std::make_unique<ScnnSets>(config_);
}

}  // namespace lacuna::scnn
