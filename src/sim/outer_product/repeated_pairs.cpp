#include "sim/outer_product/repeated_pairs.hpp"

namespace lacuna::outer_product {

RepeatedPairs::RepeatedPairs(const IndexMap& map) : map_(map) {
  constexpr std::int64_t kMemoTaps = 9;
  const std::int64_t taps = map.y.kernel * map.x.kernel;
  if (map.kind == IndexMap::Kind::kConvolution && taps <= kMemoTaps) masks_ = std::size_t{1} << taps;
}

void RepeatedPairs::start_images(std::size_t images) {
  constexpr std::size_t kMemoEntries = 1 << 20;
  positions_.assign(images, {});
  memo_masks_ = images * masks_ <= kMemoEntries ? masks_ : 0;
  of_mask_.clear();
  of_mask_.resize(images * memo_masks_);
  of_full_.clear();
  of_full_.resize(images);
}

void RepeatedPairs::set_kernel(const CsrPlane& kernel) {
  kernel_ = &kernel;
  mask_ = 0;
  // Planes of an operation are equally wide; packed kernels may be fewer in the end.
  is_full_ = map_.kind == IndexMap::Kind::kConvolution && kernel.nonzeros() == kernel.rows * kernel.cols;
  is_prepared_ = false;
  if (!is_full_ || kernel.rows == full_rows_) return;
  full_rows_ = kernel.rows;
  for (Known& known : of_full_) known.reset();
}

void RepeatedPairs::set_kernel_mask(std::uint64_t mask) {
  kernel_ = nullptr;
  mask_ = mask;
  is_full_ = is_prepared_ = false;
}

std::int64_t RepeatedPairs::count(std::size_t image, PairCounts& totals) {
  Known unknown;
  Known& known = memo_masks_ > 0 && mask_ != 0 ? of_mask_[image * memo_masks_ + mask_]
                 : is_full_                    ? of_full_[image]
                                               : unknown;
  if (!known) {
    if (kernel_ == nullptr) {
      from_mask_.assign_mask(mask_, map_.y.kernel, map_.x.kernel);
      kernel_ = &from_mask_;
    }
    if (!is_prepared_) prepare(*kernel_);
    is_prepared_ = true;
    known = std::make_unique<PairCounts>(look_at(positions_[image], *kernel_));
  }
  totals += *known;
  return known->cycles();
}

}  // namespace lacuna::outer_product
