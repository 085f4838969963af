// A counter that looks at every product, as bank conflicts ask for. Where kernels repeat, what a pair takes
// is kept by image and kernel: kernels of at most nine positions, of which there are at most 512, and those
// without zeros (planes of G behind batch norm).
#pragma once

#include <memory>
#include <vector>

#include "sim/outer_product/processing_element.hpp"

namespace lacuna::outer_product {

class RepeatedPairs : public PairCounter {
 public:
  explicit RepeatedPairs(const IndexMap& map);

  void start_images(std::size_t images) final;
  void add_nonzero(std::size_t image, std::int64_t y, std::int64_t x) final {
    positions_[image].push_back({static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(x)});
  }
  void end_images() final {}
  std::int64_t image_nonzeros(std::size_t image) const final { return std::ssize(positions_[image]); }
  void set_kernel(const CsrPlane& kernel) final;
  void set_kernel_mask(std::uint64_t mask) final;
  std::int64_t count(std::size_t image, PairCounts& totals) final;

 protected:
  // Called with each kernel before look_at().
  virtual void prepare(const CsrPlane&) {}
  // Counts a pair that is not known yet, product by product.
  virtual PairCounts look_at(const std::vector<Position>& image, const CsrPlane& kernel) = 0;

  const IndexMap& map() const { return map_; }

 private:
  using Known = std::unique_ptr<PairCounts>;

  IndexMap map_;
  std::size_t masks_ = 0;       // that there can be, if few
  std::size_t memo_masks_ = 0;  // those, if a block has not too many images
  std::vector<std::vector<Position>> positions_;
  std::vector<Known> of_mask_;  // by image and mask
  std::vector<Known> of_full_;  // by image, against a kernel without zeros of full_rows_
  std::int64_t full_rows_ = 0;

  const CsrPlane* kernel_ = nullptr;  // null: to be made of mask_
  CsrPlane from_mask_;
  std::uint64_t mask_ = 0;
  bool is_full_ = false, is_prepared_ = false;
};

}  // namespace lacuna::outer_product
