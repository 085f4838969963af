#include "trace/synthetic/clustering.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

namespace lacuna {
namespace {

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Inverse of normal_below() by bisection: a few calls per tensor.
double normal_level(double share) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_below(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Probability that two normal numbers with a correlation are both below `level`: Plackett's integral of the
// density from independence on.
double both_below(double level, double correlation) {
  constexpr int kSteps = 64;
  const double below = normal_below(level);
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double r = correlation * (i + 0.5) / kSteps;
    sum += std::exp(-level * level / (1 + r)) / std::sqrt(1 - r * r);
  }
  return below * below + sum * correlation / kSteps / (2 * std::numbers::pi);
}

// The correlation, 0 to almost 1, with which pairs are both zero as often as measured.
double correlation_of(double both, double level) {
  double low = 0, high = 0.98;
  if (both <= both_below(level, 0)) return 0;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (both_below(level, middle) < both ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Pairs of elements, and how many of them are both zero.
struct Pairs {
  double both = 0, all = 0;
  void add_group(double zeros, double elements) {
    both += zeros * (zeros - 1);
    all += elements * (elements - 1);
  }
  double correlation(double level) const { return all > 0 ? correlation_of(both / all, level) : 0; }
};

// Normal numbers and their distribution as tables: millions are drawn per network, to three digits.
class NormalTables {
 public:
  NormalTables() {
    for (std::size_t i = 0; i < kSize; ++i) {
      drawn_[i] = static_cast<float>(normal_level((static_cast<double>(i) + 0.5) / kSize));
      const double x = (static_cast<double>(i) - kSize / 2.0) * kReach / (kSize / 2.0);
      below_[i] = static_cast<std::uint32_t>(normal_below(x) * 0x1p24);
    }
  }
  float draw(std::uint64_t bits) const { return drawn_[bits % kSize]; }
  // Returns the probability of a number below x, times 2^24.
  std::uint32_t below(float x) const {
    const float at = x * (kSize / 2.0F / kReach) + (kSize / 2.0F + 0.5F);
    return below_[static_cast<std::size_t>(std::clamp(at, 0.0F, kSize - 1.0F))];
  }

 private:
  static constexpr std::size_t kSize = 4096;
  static constexpr float kReach = 5;  // standard deviations
  std::array<float, kSize> drawn_{};
  std::array<std::uint32_t, kSize> below_{};
};

}  // namespace

std::int64_t rows_of_image(const LayerShape& shape, Operand role) {
  const std::int64_t rows = role == Operand::kA   ? shape.n * shape.input_positions()
                            : role == Operand::kG ? shape.n * shape.output_positions()
                                                  : shape.k * shape.taps();
  return role == Operand::kW || shape.is_matrix() ? rows : rows / shape.n;
}

Clustering measure_clustering(const MaskView& mask, std::int64_t image_rows) {
  const double elements = static_cast<double>(mask.rows) * static_cast<double>(mask.channels);
  const double share = 1 - static_cast<double>(count_nonzeros(mask)) / elements;
  if (share < 0.001 || share > 0.999) return {};
  const auto channels = static_cast<std::size_t>(mask.channels);
  Pairs channel, position, next, after_next;
  for (std::int64_t first = 0; first < mask.rows; first += image_rows) {
    std::vector<std::uint8_t> one_before(channels), two_before(channels), now(channels);
    std::vector<std::int64_t> zeros(channels);
    for (std::int64_t r = 0; r < image_rows; ++r) {
      std::int64_t in_row = 0;
      for (std::size_t c = 0; c < channels; ++c) {
        now[c] = mask.bit(first + r, static_cast<std::int64_t>(c)) ? 0 : 1;
        in_row += now[c];
        zeros[c] += now[c];
        if (r >= 1) next.both += now[c] & one_before[c];
        if (r >= 2) after_next.both += now[c] & two_before[c];
      }
      position.add_group(static_cast<double>(in_row), static_cast<double>(channels));
      if (r >= 1) next.all += static_cast<double>(channels);
      if (r >= 2) after_next.all += static_cast<double>(channels);
      std::swap(two_before, one_before);
      std::swap(one_before, now);
    }
    for (const std::int64_t of_channel : zeros)
      channel.add_group(static_cast<double>(of_channel), static_cast<double>(image_rows));
  }
  const double level = normal_level(share);
  Clustering result{.channel = channel.correlation(level), .position = position.correlation(level)};
  const double one = next.correlation(level) - result.channel,
               two = after_next.correlation(level) - result.channel;
  if (one > 0.01) {
    result.decay = std::clamp(two / one, 0.0, 0.95);
    result.neighbour = std::min(result.decay > 0 ? one / result.decay : one, 1.0);
    if (result.decay == 0) result.decay = 0.5;
  }
  // The parts leave something to chance.
  const double sum = result.channel + result.position + result.neighbour, most = 0.98;
  if (sum > most) {
    result.channel *= most / sum;
    result.position *= most / sum;
    result.neighbour *= most / sum;
  }
  return result;
}

void draw_clustered_mask(double share, const Clustering& clustering, std::int64_t rows, std::int64_t channels,
                         std::int64_t image_rows, Random& random, std::uint8_t* out) {
  static const NormalTables kTables;
  const std::int64_t row_bytes = (channels + 7) / 8;
  std::memset(out, 0, static_cast<std::size_t>(rows * row_bytes));
  if (share >= 1) return;
  const auto root = [](double x) { return static_cast<float>(std::sqrt(std::max(x, 0.0))); };
  const float by_channel = root(clustering.channel), by_position = root(clustering.position),
              by_neighbour = root(clustering.neighbour), decay = static_cast<float>(clustering.decay),
              fresh = root(1 - clustering.decay * clustering.decay);
  const float level = static_cast<float>(share <= 0 ? -1e6 : normal_level(share));
  const float scale = 1 / root(1 - clustering.channel - clustering.position - clustering.neighbour);
  std::vector<float> channel(static_cast<std::size_t>(channels)), near(static_cast<std::size_t>(channels));
  for (std::int64_t r = 0; r < rows; ++r) {
    if (r % image_rows == 0) {
      for (float& value : channel) value = level - by_channel * kTables.draw(random.bits());
      for (float& value : near) value = kTables.draw(random.bits());
    }
    const float here = by_position * kTables.draw(random.bits());
    std::uint8_t* row = out + r * row_bytes;
    for (std::size_t c = 0; c < channel.size(); ++c) {
      const std::uint64_t bits = random.bits();
      near[c] = decay * near[c] + fresh * kTables.draw(bits);
      const bool zero = (bits >> 40) < kTables.below((channel[c] - here - by_neighbour * near[c]) * scale);
      if (!zero) row[c / 8] |= static_cast<std::uint8_t>(1U << (c % 8));
    }
  }
}

}  // namespace lacuna
