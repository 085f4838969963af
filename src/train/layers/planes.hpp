// Divides the planes (one image, 16 channels) of an activation among threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unistd.h>

#include "train/layers/activation.hpp"

namespace lacuna::train {

// Returns the size of one core's second-level cache.
inline std::int64_t cache_bytes() {
  constexpr std::int64_t kUsual = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const std::int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes >= kUsual / 4) return bytes;
#endif
  return kUsual;
}

// Images are taken in a few parts, whose number does not depend on that of the threads; neither do sums over
// parts, then.
class Planes {
 public:
  Planes(const Activation& like, int threads)
      : n_(like.n),
        blocks_(like.blocks()),
        pixels_(like.pixels()),
        parts_(std::min<std::int64_t>(like.n, 32)),
        threads_(threads) {}

  std::int64_t blocks() const { return blocks_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t pixels() const { return pixels_; }
  std::int64_t item(std::int64_t block, std::int64_t part) const { return block * parts_ + part; }

  // work(the plane's first float) for each image of a part, and in the other order.
  template <typename Work>
  void each_image(std::int64_t block, std::int64_t part, const Work& work) const {
    for (std::int64_t n = n_ * part / parts_; n < n_ * (part + 1) / parts_; ++n) work(start(n, block));
  }
  template <typename Work>
  void each_image_backwards(std::int64_t block, std::int64_t part, const Work& work) const {
    for (std::int64_t n = n_ * (part + 1) / parts_; n-- > n_ * part / parts_;) work(start(n, block));
  }

  // work(block, part)
  template <typename Work>
  void each_part(const Work& work) const {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::int64_t i = 0; i < blocks_ * parts_; ++i) work(i / parts_, i % parts_);
  }

  // before(block), first(block, part), between(block), second(block, part), where both passes read `tensors`
  // tensors. The second pass finds in the cache of its core what the first has read, the last images first: a
  // thread takes whole blocks if they fit, otherwise all threads take the images of a few blocks together.
  template <typename Before, typename First, typename Between, typename Second>
  void two_passes(int tensors, const Before& before, const First& first, const Between& between,
                  const Second& second) const {
    const std::int64_t bytes = tensors * n_ * pixels_ * 16 * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t room = cache_bytes() / 2;
    if (bytes <= room && (blocks_ % threads_ == 0 || blocks_ >= 8 * threads_)) {
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t block = 0; block < blocks_; ++block) {
        before(block);
        for (std::int64_t part = 0; part < parts_; ++part) first(block, part);
        between(block);
        for (std::int64_t part = parts_; part-- > 0;) second(block, part);
      }
      return;
    }
    const std::int64_t together = std::clamp<std::int64_t>(threads_ * room / bytes, 1, blocks_);
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static)
      for (std::int64_t block = 0; block < blocks_; ++block) before(block);
      for (std::int64_t from = 0; from < blocks_; from += together) {
        const std::int64_t to = std::min(from + together, blocks_);
#pragma omp for schedule(static)
        for (std::int64_t i = from * parts_; i < to * parts_; ++i) first(i / parts_, i % parts_);
#pragma omp for schedule(static)
        for (std::int64_t block = from; block < to; ++block) between(block);
        const std::int64_t items = (to - from) * parts_;
#pragma omp for schedule(static) nowait
        for (std::int64_t i = 0; i < items; ++i) second(from + i / parts_, i % parts_);
      }
    }
  }

 private:
  std::int64_t start(std::int64_t n, std::int64_t block) const {
    return (n * blocks_ + block) * pixels_ * 16;
  }

  std::int64_t n_, blocks_, pixels_, parts_;
  int threads_;
};

}  // namespace lacuna::train
