#include "scnn_pe.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/ceil_div.hpp"

namespace lacuna::scnn {
namespace {

using outer_product::BankTally;
using outer_product::CsrPlane;
using outer_product::IndexMap;
using outer_product::KernelRange;
using outer_product::PairCounts;
using outer_product::Position;

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

// With banks every useful product matters, but only those: a step without any takes its one cycle. And
// kernels repeat: of nine positions or fewer there are at most 512, and planes of G behind batch norm have no
// zeros.
class ScnnCounter final : public outer_product::PairCounter {
 public:
  ScnnCounter(const ScnnPeConfig& config, const IndexMap& map) : config_(config), map_(map) {
    if (config.banks == 0) return;
    tally_.emplace(config.banks, map);
    const std::int64_t taps = map.y.kernel * map.x.kernel;
    if (map.kind != IndexMap::Kind::kConvolution) return;
    if (taps <= kMemoTaps) masks_ = std::size_t{1} << taps;
    rows_ = spans(map.y);
    columns_ = spans(map.x);
  }

  void start_images(std::size_t images) override {
    nonzeros_.assign(images, 0);
    if (!tally_) return;
    positions_.assign(images, {});
    memo_masks_ = images * masks_ <= kMemoEntries ? masks_ : 0;
    of_mask_.assign(images * memo_masks_, kUnknown);
    of_full_.assign(images, kUnknown);
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
    mask_ = 0;
    if (!tally_ || map_.kind != IndexMap::Kind::kConvolution) return;
    // A full plane of the same size as another is the same plane.
    kernel_is_full_ = kernel_nonzeros_ == kernel.rows * kernel.cols;
    find_columns();
  }
  void set_kernel_mask(std::uint64_t mask) override {
    kernel_nonzeros_ = std::popcount(mask);
    if (!tally_) return;
    mask_ = mask;
    kernel_is_full_ = false;
    kernel_ = nullptr;  // made where the mask is new to an image
  }

  std::int64_t count(std::size_t image, PairCounts& totals) override {
    PairCounts counts = closed_form(nonzeros_[image], kernel_nonzeros_, config_);
    if (tally_) counts.conflict_stalls = known_stalls(image);
    totals += counts;
    return counts.cycles();
  }

 private:
  static constexpr std::int64_t kMemoTaps = 9;
  static constexpr std::size_t kMemoEntries = 1 << 20;
  static constexpr std::int64_t kUnknown = -1;

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
  // Nothing less than 0 and nothing beyond the last output is asked for.
  static std::int64_t output(const outer_product::AxisMap& axis, std::int64_t at) {
    if (axis.output_step == 1) return at;
    return at % axis.output_step == 0 ? at / axis.output_step : -1;
  }

  std::int64_t known_stalls(std::size_t image) {
    std::int64_t* known = memo_masks_ > 0 && mask_ != 0 ? &of_mask_[image * memo_masks_ + mask_]
                          : kernel_is_full_             ? &of_full_[image]
                                                        : nullptr;
    if (known != nullptr && *known != kUnknown) return *known;
    if (kernel_ == nullptr) {
      from_mask_.assign_mask(mask_, map_.y.kernel, map_.x.kernel);
      kernel_ = &from_mask_;
      find_columns();
    }
    const std::int64_t found = map_.kind == IndexMap::Kind::kMatrix ? stalls_of_matrix(positions_[image])
                                                                    : stalls_of_plane(positions_[image]);
    if (known != nullptr) *known = found;
    return found;
  }

  // column_starts_[r * (columns + 1) + s]: elements before (r, s) in CSR order.
  void find_columns() {
    const auto width = static_cast<std::size_t>(kernel_->cols) + 1;
    column_starts_.resize(static_cast<std::size_t>(kernel_->rows) * width);
    for (std::size_t r = 0; r < static_cast<std::size_t>(kernel_->rows); ++r) {
      std::uint32_t element = kernel_->ptr[r];
      for (std::size_t s = 0; s < width; ++s) {
        while (element < kernel_->ptr[r + 1] && kernel_->col[element] < s) ++element;
        column_starts_[r * width + s] = element;
      }
    }
  }

  // Useful products only, by the step they are in.
  std::int64_t stalls_of_plane(const std::vector<Position>& image) {
    std::int64_t sum = 0;
    const auto lanes = static_cast<std::size_t>(config_.image_lanes);
    const auto lanes32 = static_cast<std::uint32_t>(config_.kernel_lanes);
    const std::int64_t width = map_.x.kernel + 1;
    for (std::size_t a = 0; a < image.size(); a += lanes) {
      products_.clear();
      for (std::size_t i = a; i < std::min(a + lanes, image.size()); ++i) {
        const Span& rows = rows_[image[i].y];
        const Span& columns = columns_[image[i].x];
        if (columns.first >= columns.end) continue;
        for (std::int64_t r = rows.first; r < rows.end; ++r) {
          const std::int64_t y = output(map_.y, rows.at - (r - rows.first) * map_.y.kernel_step);
          if (y < 0) continue;
          const std::uint32_t* starts = column_starts_.data() + r * width;
          for (std::uint32_t j = starts[columns.first]; j < starts[columns.end]; ++j) {
            const std::int64_t x =
                output(map_.x, columns.at - (kernel_->col[j] - columns.first) * map_.x.kernel_step);
            if (x >= 0) products_.push_back({j / lanes32, {y, x}});
          }
        }
      }
      if (products_.size() > 1) sum += stalls_of_vector();
    }
    return sum;
  }
  std::int64_t stalls_of_vector() {
    std::ranges::sort(products_, {}, &Product::step);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      tally_->add(products_[i].at);
      if (i + 1 == products_.size() || products_[i + 1].step != products_[i].step)
        sum += tally_->finish_step();
    }
    return sum;
  }

  // Only kernel vectors with an element in the rows that the image vector can use may hold useful products;
  // all others take their one cycle.
  std::int64_t stalls_of_matrix(const std::vector<Position>& image) {
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

  struct Product {
    std::uint32_t step;
    IndexMap::Output at;
  };

  ScnnPeConfig config_;
  IndexMap map_;
  std::optional<BankTally> tally_;
  std::vector<std::int64_t> nonzeros_;
  std::vector<std::vector<Position>> positions_;  // only with banks
  const CsrPlane* kernel_ = nullptr;
  CsrPlane from_mask_;
  std::int64_t kernel_nonzeros_ = 0;
  // Only with banks.
  std::vector<Span> rows_, columns_;  // by image position (convolution)
  std::vector<std::uint32_t> column_starts_;
  std::vector<Product> products_;  // of one image vector
  std::uint64_t mask_ = 0;         // of the kernel, if it came as one
  bool kernel_is_full_ = false;
  std::size_t masks_ = 0;              // that there can be, if few
  std::size_t memo_masks_ = 0;         // those, if a block has not too many images
  std::vector<std::int64_t> of_mask_;  // stalls by image and mask
  std::vector<std::int64_t> of_full_;  // stalls by image, against a kernel without zeros
};

}  // namespace

PairCounts ScnnPe::execute(const CsrPlane& image, const CsrPlane& kernel, const IndexMap& map,
                           const outer_product::OutputPlane& output) const {
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

std::unique_ptr<outer_product::PairCounter> ScnnPe::counter(const IndexMap& map,
                                                            outer_product::KernelUse) const {
  return std::make_unique<ScnnCounter>(config_, map);
}

}  // namespace lacuna::scnn
