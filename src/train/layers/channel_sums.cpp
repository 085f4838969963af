#include "train/layers/channel_sums.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lacuna::train {
namespace {

constexpr std::int64_t kPart = 1 << 14;  // summed by one thread into one number, in order

template <typename Term>
double sum_of_parts(std::int64_t count, int threads, const Term& term) {
  const std::int64_t parts = (count + kPart - 1) / kPart;
  std::vector<double> sums(static_cast<std::size_t>(parts));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t p = 0; p < parts; ++p) {
    double sum = 0;
    const std::int64_t end = std::min(count, (p + 1) * kPart);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = p * kPart; i < end; ++i) sum += term(i);
    sums[static_cast<std::size_t>(p)] = sum;
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

double total(const float* values, std::int64_t count, int threads) {
  return sum_of_parts(count, threads, [values](std::int64_t i) { return static_cast<double>(values[i]); });
}

double dot(const float* a, const float* b, std::int64_t count, int threads) {
  return sum_of_parts(count, threads, [a, b](std::int64_t i) { return static_cast<double>(a[i]) * b[i]; });
}

void channel_sums(const Activation& like, const float* blocked, float* sums, int threads) {
  const std::int64_t blocks = like.blocks();
  const std::int64_t pixels = like.shape.h * like.shape.w;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::array<double, 16> all{};
    for (std::int64_t n = 0; n < like.n; ++n) {
      // Sums over one image are floats: doubles would take twice as long as reading the memory.
      std::array<float, 16> image{};
      const float* from = blocked + (n * blocks + block) * pixels * 16;
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::size_t lane = 0; lane < 16; ++lane)
          image[lane] += from[static_cast<std::size_t>(p) * 16 + lane];
      for (std::size_t lane = 0; lane < 16; ++lane) all[lane] += static_cast<double>(image[lane]);
    }
    for (std::int64_t lane = 0; lane < std::min<std::int64_t>(16, like.shape.c - block * 16); ++lane)
      sums[block * 16 + lane] = static_cast<float>(all[static_cast<std::size_t>(lane)]);
  }
}

void clear_padding(Activation& activation) {
  const std::int64_t used = activation.shape.c % 16;
  if (used == 0) return;
  const std::int64_t pixels = activation.shape.h * activation.shape.w;
  for (std::int64_t n = 0; n < activation.n; ++n) {
    float* last = activation.data.data() + ((n + 1) * activation.blocks() - 1) * pixels * 16;
    for (std::int64_t p = 0; p < pixels; ++p) std::fill(last + p * 16 + used, last + (p + 1) * 16, 0.0F);
  }
}

}  // namespace lacuna::train
