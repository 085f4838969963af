#include "sim/mac_counts.hpp"

#include <algorithm>
#include <vector>

namespace lacuna {
namespace {

// One axis of the convolution: which input positions the (output position, tap) pairs touch.
struct Axis {
  std::int64_t in, out, kernel, stride, padding, dilation;

  std::int64_t source(std::int64_t o, std::int64_t tap) const {
    return o * stride - padding + tap * dilation;
  }
  bool inside(std::int64_t position) const { return position >= 0 && position < in; }

  // For each input position: how many (output, tap) pairs read it.
  std::vector<std::int64_t> uses() const {
    std::vector<std::int64_t> count(static_cast<std::size_t>(in), 0);
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        if (const std::int64_t at = source(o, tap); inside(at)) ++count[static_cast<std::size_t>(at)];
      }
    }
    return count;
  }
  // For each output position: how many taps reach an input position that exists.
  std::vector<std::int64_t> reaches() const {
    std::vector<std::int64_t> count(static_cast<std::size_t>(out), 0);
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        if (inside(source(o, tap))) ++count[static_cast<std::size_t>(o)];
      }
    }
    return count;
  }
  // For each tap: input positions whose sub-kernel contains it, whether or not an output lies there.
  std::int64_t phase_positions(std::int64_t tap) const {
    std::int64_t count = 0;
    for (std::int64_t position = 0; position < in; ++position) {
      if ((position + padding - tap * dilation) % stride == 0) ++count;
    }
    return count;
  }
};

std::vector<std::int64_t> row_counts(const MaskView& mask, std::int64_t first, std::int64_t channels) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(mask.rows));
  count_rows(mask, first, channels, counts.data());
  return counts;
}

struct Counter2d {
  const LayerShape& s;
  Axis y{s.input.h, s.output.h, s.kernel.h, s.stride.h, s.padding.h, s.dilation.h};
  Axis x{s.input.w, s.output.w, s.kernel.w, s.stride.w, s.padding.w, s.dilation.w};

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

  std::int64_t windows_with_a(const Layer& layer) const {
    return weighted(layer.a.mask, s.input, y.uses(), x.uses()) * s.k_per_group();
  }
  std::int64_t windows_with_g(const Layer& layer) const {
    return weighted(layer.g.mask, s.output, y.reaches(), x.reaches()) * s.c_per_group();
  }
  std::int64_t phases_with_w(const Layer& layer) const {
    const std::vector<std::int64_t> nonzeros = row_counts(layer.w.mask, 0, s.c_per_group());
    std::int64_t total = 0;
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      std::int64_t of_tap = 0;
      for (std::int64_t k = 0; k < s.k; ++k) of_tap += nonzeros[static_cast<std::size_t>(k * s.taps() + tap)];
      total += of_tap * y.phase_positions(tap / s.kernel.w) * x.phase_positions(tap % s.kernel.w);
    }
    return total * s.n;
  }
};

// Adds the bits of a row to per-channel counts. A byte of counts a channel at a time is what vectorises: each
// mask byte becomes eight bytes of 0 or 1 by one multiplication.
class ChannelCounter {
 public:
  explicit ChannelCounter(std::int64_t channels)
      : sums_(static_cast<std::size_t>(channels), 0),
        bytes_(static_cast<std::size_t>((channels + 7) / 8), 0) {}

  void add(const std::uint8_t* row) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      // Spread the 8 bits of a byte over 8 bytes: copy, select one bit a byte, move it to the byte's bottom.
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

// Pairs of non-zero A (or G) and non-zero W. Both are counted for each (tap, reduced channel) by itself and
// the counts multiplied: every non-zero of the one meets every non-zero of the other there.
std::int64_t effectual_forward(const Layer& layer, const Counter2d& count) {
  const LayerShape& s = layer.shape;
  std::int64_t total = 0;
  for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
      ChannelCounter a(s.c);
      for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t oy = 0; oy < s.output.h; ++oy) {
          const std::int64_t py = count.y.source(oy, ky);
          if (!count.y.inside(py)) continue;
          for (std::int64_t ox = 0; ox < s.output.w; ++ox) {
            const std::int64_t px = count.x.source(ox, kx);
            if (count.x.inside(px)) a.add(layer.a.mask.row((n * s.input.h + py) * s.input.w + px));
          }
        }
      }
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
  const std::vector<std::int64_t> w_nonzeros = row_counts(layer.w.mask, 0, s.c_per_group());
  std::int64_t total = 0;
  for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
    for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
      ChannelCounter g(s.k);
      for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t oy = 0; oy < s.output.h; ++oy) {
          if (!count.y.inside(count.y.source(oy, ky))) continue;
          for (std::int64_t ox = 0; ox < s.output.w; ++ox) {
            if (!count.x.inside(count.x.source(ox, kx))) continue;
            g.add(layer.g.mask.row((n * s.output.h + oy) * s.output.w + ox));
          }
        }
      }
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
  // Non-zeros of each pixel's channels; a group's pairs at (position, tap) are their product.
  std::int64_t total = 0;
  for (std::int64_t group = 0; group < s.groups; ++group) {
    const auto a = row_counts(layer.a.mask, group * s.c_per_group(), s.c_per_group());
    const auto g = row_counts(layer.g.mask, group * s.k_per_group(), s.k_per_group());
    std::size_t row = 0;
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t oy = 0; oy < s.output.h; ++oy) {
        for (std::int64_t ox = 0; ox < s.output.w; ++ox, ++row) {
          std::int64_t seen = 0;
          for (std::int64_t ky = 0; ky < s.kernel.h; ++ky) {
            const std::int64_t py = count.y.source(oy, ky);
            if (!count.y.inside(py)) continue;
            for (std::int64_t kx = 0; kx < s.kernel.w; ++kx) {
              const std::int64_t px = count.x.source(ox, kx);
              if (count.x.inside(px))
                seen += a[static_cast<std::size_t>((n * s.input.h + py) * s.input.w + px)];
            }
          }
          total += seen * g[row];
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
  MacCounts counts;
  counts.macs = s.macs();
  switch (op) {
    case Operation::kForward:
      counts.with_text = count.windows_with_a(layer);
      counts.with_other = layer.w.nonzeros * s.n * s.output_positions();
      counts.effectual = layer.w.zeros() == 0 ? counts.with_text : effectual_forward(layer, count);
      break;
    case Operation::kInputGrad:
      counts.with_text = count.windows_with_g(layer);
      counts.with_other = count.phases_with_w(layer);
      counts.effectual = layer.w.zeros() == 0 ? counts.with_text : effectual_input_grad(layer, count);
      break;
    case Operation::kWeightGrad:
      counts.with_text = layer.g.nonzeros * s.c_per_group() * s.taps();
      counts.with_other = count.windows_with_a(layer);
      counts.effectual = layer.g.zeros() == 0 ? counts.with_other : effectual_weight_grad(layer, count);
      break;
  }
  return counts;
}

TensorRole choose_scheduled(const Layer& layer, Operation op, SchedulePolicy policy) {
  const TensorRole text = operands(op).text;
  const TensorRole other = operands(op).other;
  const auto named = [&](TensorRole role) { return other == role ? other : text; };
  switch (policy) {
    case SchedulePolicy::kA:
      return named(TensorRole::kA);
    case SchedulePolicy::kW:
      return named(TensorRole::kW);
    case SchedulePolicy::kG:
      return named(TensorRole::kG);
    case SchedulePolicy::kText:
      if (op != Operation::kWeightGrad) return text;
      break;
    case SchedulePolicy::kSparser:
      break;
  }
  // Exact shares: zeros/elements compared by cross multiplication in 128 bits.
  __extension__ using Wide = unsigned __int128;
  const LayerTensor& t = layer.tensor(text);
  const LayerTensor& o = layer.tensor(other);
  const Wide other_share = static_cast<Wide>(o.zeros()) * static_cast<Wide>(t.elements());
  const Wide text_share = static_cast<Wide>(t.zeros()) * static_cast<Wide>(o.elements());
  return other_share > text_share ? other : text;
}

}  // namespace lacuna
