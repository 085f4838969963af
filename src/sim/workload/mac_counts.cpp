#include "sim/workload/mac_counts.hpp"

#include <algorithm>
#include <vector>

#include "sim/workload/conv_axis.hpp"

namespace lacuna {
namespace {

// A tap of a kernel this large or larger is not looked at position by position: sums over windows come from
// running sums, so that time stays in proportion to the tensors (a file of 2 MB can hold a million positions
// and a million taps). Below, going over bytes of eight channels is faster.
constexpr std::int64_t kManyTaps = 64;

std::vector<std::int64_t> row_counts(const MaskView& mask, std::int64_t first, std::int64_t channels) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(mask.rows));
  count_rows(mask, first, channels, counts.data());
  return counts;
}

struct Counter2d {
  const LayerShape& s;
  ConvAxis y{s.input.h, s.output.h, s.kernel.h, s.stride.h, s.padding.h, s.dilation.h};
  ConvAxis x{s.input.w, s.output.w, s.kernel.w, s.stride.w, s.padding.w, s.dilation.w};

  // Sum over the rows of an image tensor of (set bits) x weight_y[y] x weight_x[x].
  static std::int64_t weighted(const MaskView& mask, Size2 plane, const std::vector<std::int64_t>& weight_y,
                               const std::vector<std::int64_t>& weight_x) {
    const std::vector<std::int64_t> counts = row_counts(mask, 0, mask.channels);
    std::int64_t total = 0;
    const std::int64_t* count = counts.data();
    while (count != counts.data() + counts.size()) {
      for (std::int64_t py = 0; py < plane.h; ++py) {
        std::int64_t line = 0;
        for (std::int64_t px = 0; px < plane.w; ++px)
          line += *count++ * weight_x[static_cast<std::size_t>(px)];
        total += line * weight_y[static_cast<std::size_t>(py)];
      }
    }
    return total;
  }

  // A tensor without zeros is not read: it may be a few words in the file's header and 2^40 elements.
  std::int64_t windows_with_a(const Layer& layer) const {
    if (layer.a.zeros() == 0) return s.n * y.pairs() * x.pairs() * s.k * s.c_per_group();
    return weighted(layer.a.mask, s.input, y.pairs_by_input(), x.pairs_by_input()) * s.k_per_group();
  }
  std::int64_t windows_with_g(const Layer& layer) const {
    if (layer.g.zeros() == 0) return s.n * y.pairs() * x.pairs() * s.k * s.c_per_group();
    return weighted(layer.g.mask, s.output, y.pairs_by_output(), x.pairs_by_output()) * s.c_per_group();
  }
  // Pairs of a non-zero weight and an input position that exists, for all samples.
  std::int64_t windows_with_w(const Layer& layer) const {
    return weighted(layer.w.mask, s.kernel, y.pairs_by_tap(), x.pairs_by_tap()) * s.n;
  }
  std::int64_t phases_with_w(const Layer& layer) const {
    if (layer.w.zeros() == 0) return s.n * s.k * s.c_per_group() * y.phase_pairs() * x.phase_pairs();
    const auto by_tap = [](const ConvAxis& axis) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(axis.kernel));
      for (std::int64_t tap = 0; tap < axis.kernel; ++tap)
        counts[static_cast<std::size_t>(tap)] = axis.phase_positions(tap);
      return counts;
    };
    return weighted(layer.w.mask, s.kernel, by_tap(y), by_tap(x)) * s.n;
  }
};

// Adds the bits of a row to per-channel counts. One byte of counts per channel vectorises well: each
// mask byte becomes eight bytes of 0 or 1 by one multiplication.
class ChannelCounter {
 public:
  explicit ChannelCounter(std::int64_t channels)
      : sums_(static_cast<std::size_t>(channels), 0),
        bytes_(static_cast<std::size_t>((channels + 7) / 8), 0) {}

  void add(const std::uint8_t* row) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      // Spread the 8 bits of a byte over 8 bytes: copy, select one bit per byte, move it to the byte's
      // bottom.
      const std::uint64_t spread = (row[i] * 0x0101010101010101ULL) & 0x8040201008040201ULL;
      bytes_[i] += ((spread + 0x7f7f7f7f7f7f7f7fULL) >> 7) & 0x0101010101010101ULL;
    }
    if (++pending_ == 255) flush();
  }
  const std::vector<std::int64_t>& sums() {
    flush();
    return sums_;
  }

 private:
  void flush() {
    for (std::size_t c = 0; c < sums_.size(); ++c) {
      sums_[c] += static_cast<std::int64_t>((bytes_[c / 8] >> (8 * (c % 8))) & 0xff);
    }
    std::ranges::fill(bytes_, 0);
    pending_ = 0;
  }
  std::vector<std::int64_t> sums_;
  std::vector<std::uint64_t> bytes_;
  int pending_ = 0;
};

// Non-zeros of one channel, all samples added.
void add_channel(const MaskView& mask, std::int64_t channel, std::int64_t positions, std::int64_t* plane) {
  std::fill_n(plane, positions, 0);
  for (std::int64_t row = 0; row < mask.rows; row += positions)
    for (std::int64_t i = 0; i < positions; ++i) plane[i] += mask.bit(row + i, channel) ? 1 : 0;
}

// Non-zeros in the window of a tap, times the non-zero weights of that tap, over all taps. `window` gets the
// tap and the outputs that it reaches.
template <typename Window>
std::int64_t sum_over_taps(const Counter2d& count, const std::vector<std::int64_t>& weights,
                           const Window& window) {
  const LayerShape& s = count.s;
  std::int64_t total = 0;
  for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
    const ConvAxis::Range oy = count.y.outputs_of(ky);
    if (oy.size() == 0) continue;
    for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
      const ConvAxis::Range ox = count.x.outputs_of(kx);
      if (ox.size() == 0) continue;
      total += window(ky, kx, oy, ox) * weights[static_cast<std::size_t>(ky * s.kernel.w + kx)];
    }
  }
  return total;
}

std::int64_t effectual_forward_many_taps(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  RunningSums sums(s.input, s.stride);
  std::vector<std::int64_t> weights(static_cast<std::size_t>(s.taps()));
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < s.c; ++c) {
    add_channel(layer.a.mask, c, s.input_positions(), sums.values());
    sums.close();
    const std::int64_t group = c / s.c_per_group();
    const MaskView& w = layer.w.mask;
    const std::int64_t group_rows = s.k_per_group() * s.taps();
    const MaskView filters{w.row(group * group_rows), group_rows, w.channels, w.row_bytes};
    add_channel(filters, c % s.c_per_group(), s.taps(), weights.data());
    total += sum_over_taps(count, weights, [&](auto ky, auto kx, auto oy, auto ox) {
      return sums.window({count.y.source(oy.first, ky), count.x.source(ox.first, kx)},
                         {count.y.source(oy.last - 1, ky), count.x.source(ox.last - 1, kx)});
    });
  }
  return total;
}

std::int64_t effectual_input_grad_many_taps(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  const std::vector<std::int64_t> nonzeros = row_counts(layer.w.mask, 0, s.c_per_group());
  RunningSums sums(s.output, {1, 1});
  std::int64_t total = 0;
  for (std::int64_t k = 0; k < s.k; ++k) {
    add_channel(layer.g.mask, k, s.output_positions(), sums.values());
    sums.close();
    const std::vector<std::int64_t> weights(nonzeros.begin() + k * s.taps(),
                                            nonzeros.begin() + (k + 1) * s.taps());
    total += sum_over_taps(count, weights, [&](auto, auto, auto oy, auto ox) {
      return sums.window({oy.first, ox.first}, {oy.last - 1, ox.last - 1});
    });
  }
  return total;
}

// Calls use(n, oy, ox) for every output whose tap (ky, kx) lies inside the input.
template <typename Use>
void each_output(std::int64_t samples, const Counter2d& count, std::int64_t ky, std::int64_t kx,
                 const Use& use) {
  const ConvAxis::Range rows = count.y.outputs_of(ky);
  const ConvAxis::Range columns = count.x.outputs_of(kx);
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t oy = rows.first; oy < rows.last; ++oy) {
      for (std::int64_t ox = columns.first; ox < columns.last; ++ox) use(n, oy, ox);
    }
  }
}

// Pairs of non-zero A (or G) and non-zero W. Both are counted for each (tap, reduced channel) by itself and
// the counts multiplied: every non-zero of the one meets every non-zero of the other there.
std::int64_t effectual_forward(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  if (s.taps() >= kManyTaps) return effectual_forward_many_taps(layer, count);
  std::int64_t total = 0;
  for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
      ChannelCounter a(s.c);
      each_output(s.n, count, ky, kx, [&](std::int64_t n, std::int64_t oy, std::int64_t ox) {
        const std::int64_t line = (n * s.input.h + count.y.source(oy, ky)) * s.input.w;
        a.add(layer.a.mask.row(line + count.x.source(ox, kx)));
      });
      for (std::int64_t group = 0; group < s.groups; ++group) {
        ChannelCounter w(s.c_per_group());
        for (std::int64_t k = group * s.k_per_group(); k < (group + 1) * s.k_per_group(); ++k) {
          w.add(layer.w.mask.row((k * s.kernel.h + ky) * s.kernel.w + kx));
        }
        const std::int64_t* a_sums = a.sums().data() + group * s.c_per_group();
        const std::vector<std::int64_t>& w_sums = w.sums();
        for (std::size_t c = 0; c < w_sums.size(); ++c) total += a_sums[c] * w_sums[c];
      }
    }
  }
  return total;
}

std::int64_t effectual_input_grad(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  if (s.taps() >= kManyTaps) return effectual_input_grad_many_taps(layer, count);
  const std::vector<std::int64_t> w_nonzeros = row_counts(layer.w.mask, 0, s.c_per_group());
  std::int64_t total = 0;
  for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
      ChannelCounter g(s.k);
      each_output(s.n, count, ky, kx, [&](std::int64_t n, std::int64_t oy, std::int64_t ox) {
        g.add(layer.g.mask.row((n * s.output.h + oy) * s.output.w + ox));
      });
      const std::vector<std::int64_t>& g_sums = g.sums();
      for (std::int64_t k = 0; k < s.k; ++k) {
        total += g_sums[static_cast<std::size_t>(k)] *
                 w_nonzeros[static_cast<std::size_t>((k * s.kernel.h + ky) * s.kernel.w + kx)];
      }
    }
  }
  return total;
}

std::int64_t effectual_weight_grad(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  // Non-zeros of each pixel's channels; a group's pairs at an output are its own times those of its window.
  std::vector<ConvAxis::Range> taps_y, taps_x;
  taps_y.reserve(static_cast<std::size_t>(s.output.h));
  taps_x.reserve(static_cast<std::size_t>(s.output.w));
  for (std::int64_t oy = 0; oy < s.output.h; ++oy) taps_y.push_back(count.y.taps_of(oy));
  for (std::int64_t ox = 0; ox < s.output.w; ++ox) taps_x.push_back(count.x.taps_of(ox));
  RunningSums sums(s.input, s.dilation);
  std::int64_t total = 0;
  for (std::int64_t group = 0; group < s.groups; ++group) {
    const auto a = row_counts(layer.a.mask, group * s.c_per_group(), s.c_per_group());
    const auto g = row_counts(layer.g.mask, group * s.k_per_group(), s.k_per_group());
    const std::int64_t* of_g = g.data();
    for (std::int64_t n = 0; n < s.n; ++n) {
      std::copy_n(a.begin() + n * s.input_positions(), s.input_positions(), sums.values());
      sums.close();
      for (std::int64_t oy = 0; oy < s.output.h; ++oy) {
        const ConvAxis::Range ky = taps_y[static_cast<std::size_t>(oy)];
        for (std::int64_t ox = 0; ox < s.output.w; ++ox, ++of_g) {
          const ConvAxis::Range kx = taps_x[static_cast<std::size_t>(ox)];
          if (*of_g == 0 || ky.size() == 0 || kx.size() == 0) continue;
          total += *of_g * sums.window({count.y.source(oy, ky.first), count.x.source(ox, kx.first)},
                                       {count.y.source(oy, ky.last - 1), count.x.source(ox, kx.last - 1)});
        }
      }
    }
  }
  return total;
}

}  // namespace

MacCounts count_macs(const Layer& layer, Operation op) {
  const LayerShape& s = layer.shape;
  const Counter2d count{s};
  const bool full_a = layer.a.zeros() == 0, full_w = layer.w.zeros() == 0, full_g = layer.g.zeros() == 0;
  MacCounts counts;
  counts.macs = counts.needed = s.macs();
  // Where one operand has no zeros, effectual is what the other's non-zeros meet.
  switch (op) {
    case Operation::kForward:
      counts.with_primary = count.windows_with_a(layer);
      counts.with_secondary = layer.w.nonzeros * s.n * s.output_positions();
      counts.effectual = full_w   ? counts.with_primary
                         : full_a ? count.windows_with_w(layer)
                                  : effectual_forward(layer, count);
      break;
    case Operation::kInputGrad:
      counts.with_primary = count.windows_with_g(layer);
      counts.with_secondary = count.phases_with_w(layer);
      counts.effectual = full_w   ? counts.with_primary
                         : full_g ? count.windows_with_w(layer)
                                  : effectual_input_grad(layer, count);
      break;
    case Operation::kWeightGrad:
      counts.with_primary = layer.g.nonzeros * s.c_per_group() * s.taps();
      counts.with_secondary = count.windows_with_a(layer);
      counts.effectual = full_g   ? counts.with_secondary
                         : full_a ? count.windows_with_g(layer)
                                  : effectual_weight_grad(layer, count);
      break;
  }
  return counts;
}

}  // namespace lacuna
