#include "trace/synthetic/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text/quote.hpp"
#include "trace/trace_builder.hpp"

namespace lacuna {
namespace {

// The share of zeros of each channel. Clustered zeros: half of the channels are almost always zero or almost
// never, like features behind a ReLU; the others are near the requested share. Then all are shifted so that
// their mean is that share.
std::vector<double> channel_shares(const ZeroSpec& zeros, std::int64_t channels, Random& random) {
  std::vector<double> shares(static_cast<std::size_t>(channels), zeros.share);
  if (zeros.pattern != ZeroPattern::kByChannel) return shares;
  for (double& share : shares) {
    // Half of the channels are at one of the ends, the rest in between.
    if (random.chance(0.5)) {
      share = random.chance(zeros.share) ? 0.98 : 0.02;
    } else {
      share = std::clamp(zeros.share + 0.5 * (random.uniform() - 0.5), 0.0, 1.0);
    }
  }
  // A few rounds of a shift with clamping bring the mean to the requested share.
  for (int round = 0; round < 16; ++round) {
    double mean = 0;
    for (const double share : shares) mean += share;
    const double shift = zeros.share - mean / static_cast<double>(channels);
    for (double& share : shares) share = std::clamp(share + shift, 0.0, 1.0);
  }
  return shares;
}

// A probability as a 32-bit threshold: the bit is set (non-zero) if a new 32-bit number is not below it.
std::vector<std::uint64_t> thresholds(const std::vector<double>& shares) {
  std::vector<std::uint64_t> limits;
  limits.reserve(shares.size());
  for (const double share : shares)
    limits.push_back(static_cast<std::uint64_t>(std::llround(share * 0x1p32)));
  return limits;
}

void fill_mask(const ZeroSpec& zeros, const TensorExtent& extent, std::int64_t image_rows, Random& random,
               std::uint8_t* mask) {
  const std::int64_t row_bytes = (extent.channels + 7) / 8;
  std::memset(mask, 0, static_cast<std::size_t>(extent.mask_bytes()));
  if (zeros.pattern == ZeroPattern::kAllZero) return;
  if (zeros.pattern == ZeroPattern::kRecorded) {
    for (std::int64_t r = 0; r < extent.rows; ++r)
      std::memcpy(mask + r * row_bytes, zeros.mask.row(r), static_cast<std::size_t>(row_bytes));
    return;
  }
  if (zeros.pattern == ZeroPattern::kClustered)
    return draw_clustered_mask(zeros.share, zeros.clustering, extent.rows, extent.channels, image_rows,
                               random, mask);
  const auto limits = thresholds(channel_shares(zeros, extent.channels, random));
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    std::uint8_t* row = mask + r * row_bytes;
    for (std::int64_t c = 0; c < extent.channels; c += 2) {
      const std::uint64_t drawn = random.bits();  // two elements per draw
      const auto at = static_cast<std::size_t>(c);
      const unsigned low = (drawn & 0xffffffffU) >= limits[at] ? 1U : 0U;
      const unsigned high = c + 1 < extent.channels && (drawn >> 32) >= limits[at + 1] ? 2U : 0U;
      row[c / 8] |= static_cast<std::uint8_t>((low | high) << (c % 8));
    }
  }
}

void fill_values(const TensorExtent& extent, const std::uint8_t* mask, DataType type, Random& random,
                 std::uint8_t* out) {
  const MaskView view{mask, extent.rows, extent.channels, mask == nullptr ? 0 : (extent.channels + 7) / 8};
  for (std::int64_t r = 0; r < extent.rows; ++r) {
    for (std::int64_t c = 0; c < extent.channels; ++c) {
      float value = 0;
      if (mask == nullptr || view.bit(r, c)) {
        value = static_cast<float>(random.integer(1, 7) * (random.chance(0.5) ? 1 : -1));
      }
      store_value(type, value, out + (r * extent.channels + c) * bytes_of(type));
    }
  }
}

void add_tensor(const SyntheticSpec& spec, const SyntheticLayer& layer, Operand role, const ZeroSpec& zeros,
                Random& random, TraceBuilder& builder) {
  if (!(zeros.share >= 0 && zeros.share <= 1)) {
    throw InputError(spec.name + ": layer " + quote_name(layer.name),
                     fmt::format("the share of zeros of {} is {}", TraceTensor(role).name(), zeros.share),
                     "give a number from 0 to 1");
  }
  const TensorExtent extent = TensorExtent::of(layer.shape, role);
  const bool masked = zeros.pattern != ZeroPattern::kDense;
  const bool store_mask = masked && spec.content != SyntheticContent::kValues;
  std::vector<std::uint8_t> scratch;
  std::uint8_t* mask = nullptr;
  if (masked) {
    if (store_mask) {
      mask = builder.allocate(extent.mask_bytes());
    } else {
      scratch.resize(static_cast<std::size_t>(extent.mask_bytes()));
      mask = scratch.data();
    }
    fill_mask(zeros, extent, rows_of_image(layer.shape, role), random, mask);
    if (store_mask) builder.adopt_mask(role, mask);
  }
  if (spec.content != SyntheticContent::kMasks) {
    std::uint8_t* values = builder.allocate(extent.rows * extent.channels * bytes_of(spec.type));
    fill_values(extent, mask, spec.type, random, values);
    builder.adopt_values(role, values, spec.type);
  }
}

}  // namespace

Trace make_synthetic(const SyntheticSpec& spec) {
  TraceBuilder builder(spec.name);
  if (spec.info)
    builder.info() = *spec.info;
  else
    builder.info().batch = spec.batch;
  Random seeds(spec.seed);
  for (const SyntheticLayer& layer : spec.layers) {
    builder.add_layer(layer.name, layer.shape, layer.steps);
    // One random stream per tensor: changing one layer leaves the others as they were.
    for (const auto& [role, zeros] : {std::pair{Operand::kA, &layer.a}, std::pair{Operand::kW, &layer.w},
                                      std::pair{Operand::kG, &layer.g}}) {
      Random random(seeds.bits());
      add_tensor(spec, layer, role, *zeros, random, builder);
    }
  }
  return builder.build();
}

}  // namespace lacuna
