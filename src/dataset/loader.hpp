// Batches of a data set.
#pragma once

#include <cstdint>

#include "dataset/dataset.hpp"

namespace lacuna::dataset {

struct LoaderOptions {
  int batch = 32;
  std::uint64_t seed = 1;
  bool shuffle = true;  // a new order in each epoch
  bool flip = false;    // mirrors each image left to right with probability 1/2
  int crop_padding =
      0;  // pixels added around each image (zeros: the mean colour) before a random window is cut out
  int threads = 1;  // 0: all cores
};

// A batch is a pure function of (data, options, step): the place in an epoch, the order of the epoch, flips
// and crops all follow from the number of the step, so a resumed run needs to know only that number. The
// number of threads does not matter.
class Loader {
 public:
  // Throws InputError if the set is smaller than one batch or an option is out of range. Keeps a reference to
  // `data`.
  Loader(const Dataset& data, const LoaderOptions& options);

  const Dataset& data() const { return data_; }
  const LoaderOptions& options() const { return options_; }

  // Whole batches; images that do not fill a batch at the end of an epoch are left out, as is usual.
  std::int64_t steps_per_epoch() const { return data_.size() / options_.batch; }

  // Loads batch number `step` (0, 1, ... without end). images: batch x channels x height x width floats;
  // labels: batch numbers. Throws what Dataset::read() throws.
  void load(std::int64_t step, float* images, std::int32_t* labels) const;

  // Loads `count` consecutive images from `first`, in the set's own order and unchanged; returns how many
  // there were. For measuring accuracy.
  int load_in_order(std::int64_t first, int count, float* images, std::int32_t* labels) const;

 private:
  template <typename Item>
  void for_each(int count, const Item& item) const;

  const Dataset& data_;
  LoaderOptions options_;
  int threads_;
};

}  // namespace lacuna::dataset
