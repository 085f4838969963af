#include "dataset/loader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "dataset/streams.hpp"

namespace lacuna::dataset {
namespace {

enum Purpose : std::uint64_t { kOrder = 1, kAugmentation = 2 };

// Copies the window that starts (dy, dx) from the image's corner, mirrored or not. Pixels outside the image
// are zero.
void cut_window(const float* from, const ImageShape& shape, int dy, int dx, bool mirrored, float* to) {
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = 0; y < shape.height; ++y) {
      const int source_y = y + dy;
      const bool inside_y = source_y >= 0 && source_y < shape.height;
      const float* row = from + (c * shape.height + (inside_y ? source_y : 0)) * shape.width;
      for (int x = 0; x < shape.width; ++x) {
        const int source_x = (mirrored ? shape.width - 1 - x : x) + dx;
        const bool inside = inside_y && source_x >= 0 && source_x < shape.width;
        *to++ = inside ? row[source_x] : 0.0F;
      }
    }
  }
}

}  // namespace

Loader::Loader(const Dataset& data, const LoaderOptions& options)
    : data_(data), options_(options), threads_(resolve_threads(options.threads)) {
  const ImageShape shape = data.shape();
  if (options.batch < 1 || options.batch > data.size()) {
    throw InputError(
        data.name(),
        fmt::format("a batch of {} images cannot be taken from {} images", options.batch, data.size()),
        fmt::format("use a batch from 1 to {}", data.size()));
  }
  const int largest = std::min(shape.height, shape.width) - 1;
  if (options.crop_padding < 0 || options.crop_padding > largest) {
    throw InputError(data.name(),
                     fmt::format("images of {}x{} cannot be cropped with a padding of {}", shape.height,
                                 shape.width, options.crop_padding),
                     fmt::format("use a padding from 0 to {}", largest));
  }
}

// With one thread no team is made: asking OpenMP for a team of one would end the threads of the training
// engine.
template <typename Item>
void Loader::for_each(int count, const Item& item) const {
  if (threads_ == 1) {
    for (int i = 0; i < count; ++i) item(i);
    return;
  }
  with_threads(threads_, [&] {
    parallel_for(static_cast<std::size_t>(count), 1, [&](std::size_t i) { item(static_cast<int>(i)); });
  });
}

void Loader::load(std::int64_t step, float* images, std::int32_t* labels) const {
  const ImageShape shape = data_.shape();
  const std::int64_t epoch = step / steps_per_epoch();
  const std::int64_t first = step % steps_per_epoch() * options_.batch;
  const Permutation order(data_.size(),
                          stream_seed(options_.seed, kOrder, static_cast<std::uint64_t>(epoch)));
  const std::uint64_t chances = stream_seed(options_.seed, kAugmentation, static_cast<std::uint64_t>(step));
  const bool changed = options_.flip || options_.crop_padding > 0;

  for_each(options_.batch, [&](int i) {
    const std::int64_t index = options_.shuffle ? order(first + i) : first + i;
    float* image = images + static_cast<std::ptrdiff_t>(i) * shape.size();
    if (!changed) {
      labels[i] = data_.read(index, image);
      return;
    }
    std::vector<float> whole(static_cast<std::size_t>(shape.size()));
    labels[i] = data_.read(index, whole.data());
    Random random(stream_seed(chances, 0, static_cast<std::uint64_t>(i)));
    const int padding = options_.crop_padding;
    const auto dy = static_cast<int>(random.integer(-padding, padding));
    const auto dx = static_cast<int>(random.integer(-padding, padding));
    const bool mirrored = random.chance(0.5) && options_.flip;
    cut_window(whole.data(), shape, dy, dx, mirrored, image);
  });
}

int Loader::load_in_order(std::int64_t first, int count, float* images, std::int32_t* labels) const {
  const auto there = static_cast<int>(std::clamp<std::int64_t>(data_.size() - first, 0, std::max(count, 0)));
  const int size = data_.shape().size();
  for_each(there,
           [&](int i) { labels[i] = data_.read(first + i, images + static_cast<std::ptrdiff_t>(i) * size); });
  return there;
}

}  // namespace lacuna::dataset
