#include "sim/workload/needed_outputs.hpp"

#include <algorithm>
#include <bit>

#include "base/vector_clones.hpp"

namespace lacuna {
namespace {

constexpr int kWordLanes = 64;

LACUNA_VECTOR_CLONES
std::int64_t common_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t words) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < words; ++i) count += std::popcount(a[i] & b[i]);
  return count;
}

// Reads the words of a stream; returns its non-zeros.
std::int64_t read_stream(const OperandStreams& streams, std::int64_t stream, std::uint64_t* words) {
  std::int64_t nonzeros = 0;
  for (std::int64_t step = 0; step < streams.steps(); ++step) {
    words[step] = streams.word(stream, step);
    nonzeros += std::popcount(words[step]);
  }
  return nonzeros;
}

}  // namespace

ParamSpec outputs_param(const std::string& use) {
  return ParamSpec::choice(
      "outputs", "all", {"all", "needed"},
      "results of input_grad: all, or those where A is not zero, since a ReLU before the layer "
      "discards the others. needed: " +
          use,
      "docs/assumptions.md U1 to U4");
}

bool needed_outputs_only(const Params& params) {
  return params.has("outputs") && params.text("outputs") == "needed";
}

ValueMask::ValueMask(const TensorValues& values) {
  const std::int64_t rows = std::ssize(values.data) / values.channels;
  const std::int64_t row_bytes = (values.channels + 7) / 8;
  bytes_.assign(static_cast<std::size_t>(rows * row_bytes), 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint8_t* row = bytes_.data() + r * row_bytes;
    for (std::int64_t c = 0; c < values.channels; ++c)
      row[c / 8] |= static_cast<std::uint8_t>((is_nonzero(values.at(r, c)) ? 1U : 0U) << (c % 8));
  }
  view_ = {bytes_.data(), rows, values.channels, row_bytes};
}

NeededOutputs::NeededOutputs(const LayerShape& shape, const LaneProduct& product, const OperandStreams& rows,
                             const MaskView& a)
    : rows_(rows.count()),
      columns_((&rows == &product.primary ? product.secondary : product.primary).count()),
      row_words_(ceil_div(columns_, std::int64_t{64})),
      bits_(static_cast<std::size_t>(rows_ * row_words_), 0) {
  const bool positions_on_rows = &rows == &product.primary;
  const std::int64_t positions = product.primary.count(), channels = product.secondary.count();
  for (std::int64_t p = 0; p < positions; ++p) {
    const std::int64_t at = product.output_index(shape, Operation::kInputGrad, p, 0);
    const std::int64_t row = at / shape.c, first = at % shape.c;
    for (std::int64_t c = 0; c < channels; c += 64) {
      std::uint64_t word = a.bits(row, first + c, std::min<std::int64_t>(64, channels - c));
      if (positions_on_rows) {
        bits_[static_cast<std::size_t>(p * row_words_ + c / 64)] = word;
        continue;
      }
      for (; word != 0; word &= word - 1) {
        const std::int64_t channel = c + std::countr_zero(word);
        bits_[static_cast<std::size_t>(channel * row_words_ + p / 64)] |= std::uint64_t{1} << (p % 64);
      }
    }
  }
}

std::int64_t NeededOutputs::count() const {
  std::int64_t count = 0;
  for (const std::uint64_t word : bits_) count += std::popcount(word);
  return count;
}

std::int64_t NeededOutputs::count(std::int64_t row) const {
  std::int64_t count = 0;
  for (const std::uint64_t word : words(row)) count += std::popcount(word);
  return count;
}

std::vector<bool> NeededOutputs::any_of(std::int64_t first, std::int64_t count) const {
  std::vector<bool> any(static_cast<std::size_t>(columns_), false);
  for (std::int64_t w = 0; w < row_words_; ++w) {
    std::uint64_t word = 0;
    for (std::int64_t r = first; r < std::min(first + count, rows_); ++r)
      word |= words(r)[static_cast<std::size_t>(w)];
    for (; word != 0; word &= word - 1) any[static_cast<std::size_t>(64 * w + std::countr_zero(word))] = true;
  }
  return any;
}

MacCounts count_needed_macs(const Layer& layer, Operation op, const MacCounts& all) {
  if (!has_unneeded_outputs(layer, op)) return all;
  MacCounts counts;
  counts.macs = all.macs;
  const bool full_w = layer.w.zeros() == 0;
  for (const LaneProduct& product : lane_products(layer, op, kWordLanes)) {
    const OperandStreams &g = product.primary, &w = product.secondary;
    const NeededOutputs needed(layer.shape, product, g, layer.a.mask);
    counts.needed += needed.count() * product.reduction();
    const std::int64_t steps = product.steps();
    std::vector<std::uint64_t> w_words(static_cast<std::size_t>(w.count() * steps));
    std::vector<std::int64_t> w_nonzeros;
    for (std::int64_t c = 0; c < w.count(); ++c)
      w_nonzeros.push_back(read_stream(w, c, w_words.data() + c * steps));
    std::vector<std::uint64_t> g_words(static_cast<std::size_t>(steps));
    for (std::int64_t p = 0; p < g.count(); ++p) {
      const std::int64_t g_nonzeros = read_stream(g, p, g_words.data());
      std::int64_t base = 0;
      for (std::uint64_t word : needed.words(p)) {
        counts.with_primary += g_nonzeros * std::popcount(word);
        for (; word != 0; word &= word - 1) {
          const std::int64_t c = base + std::countr_zero(word);
          counts.with_secondary += w_nonzeros[static_cast<std::size_t>(c)];
          counts.effectual +=
              full_w ? g_nonzeros : common_bits(g_words.data(), w_words.data() + c * steps, steps);
        }
        base += 64;
      }
    }
  }
  // Without padding, positions that few outputs see make the input gradient larger than the forward product.
  counts.needed = std::min(counts.needed, all.needed);
  return counts;
}

}  // namespace lacuna
