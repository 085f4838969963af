#include "kernels/ffn/nonzero_lists.hpp"

#include <algorithm>
#include <array>

#include "base/parallel.hpp"

namespace lacuna::kernels {
namespace {

constexpr std::int64_t kMostQuads = std::int64_t{kPanelRows} * (kPanelRows / kQuad);  // of a tile
constexpr std::int64_t kSpare = kLanes;  // room for what a vector writes past the end

// The rows of a tile are too far apart for the CPU to fetch those of the next one.
void fetch_row(const float* row) {
  for (int i = 0; i < kPanelRows; i += kLanes) __builtin_prefetch(row + i);
}

template <typename T>
void at_least(std::vector<T>& values, std::int64_t count) {
  if (static_cast<std::int64_t>(values.size()) < count)
    values.resize(
        static_cast<std::size_t>(std::max(count, static_cast<std::int64_t>(values.size() * 3 / 2))));
}

template <typename Item>
void for_each(std::size_t count, int threads, const Item& item) {
  with_threads(threads, [&] { parallel_for(count, 1, item); });
}

}  // namespace

void NonzeroLists::Quads::make_room(std::int64_t quads) {
  at_least(values, kQuad * quads + kSpare);
  at_least(offsets, kQuad * quads + kSpare);
  at_least(rows, quads + kQuad);
}

TileQuads NonzeroLists::Quads::tile(std::int64_t panel, bool second_set) const {
  const auto at = static_cast<std::size_t>(panel);
  const std::int64_t first = begin[at];
  return {(second_set ? second : values).data() + kQuad * first, offsets.data() + kQuad * first,
          rows.data() + first, begin[at + 1] - first};
}

std::int64_t NonzeroLists::panel_columns(std::int64_t panel) const {
  return std::min<std::int64_t>(kPanelRows, columns_ - panel * kPanelRows);
}

void NonzeroLists::build(const float* matrix, std::int64_t rows, std::int64_t columns, const KeepRule& rule,
                         int threads, const TileLoops& loops) {
  rows_ = rows;
  columns_ = columns;
  has_slopes_ = rule.squared;
  has_columns_ = rule.by_columns;
  strips_.resize(static_cast<std::size_t>(panels_of(rows)));
  for_each(strips_.size(), threads,
           [&](std::size_t strip) { build_strip(static_cast<std::int64_t>(strip), matrix, rule, loops); });
}

void NonzeroLists::build_strip(std::int64_t index, const float* matrix, const KeepRule& rule,
                               const TileLoops& loops) {
  Strip& strip = strips_[static_cast<std::size_t>(index)];
  // Slot 0 of the lists by rows is zero: the place of what fills up quads of the lists by columns.
  strip.by_rows.begin.assign(1, 1);
  strip.by_columns.begin.assign(1, 0);
  strip.kept = 0;
  strip.by_rows.make_room(1);
  std::fill_n(strip.by_rows.values.begin(), kQuad, 0.0F);
  const std::int64_t first = index * kPanelRows;
  const std::int64_t rows = std::min<std::int64_t>(kPanelRows, rows_ - first);
  const std::int64_t panels = panels_of(columns_);
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    Quads& list = strip.by_rows;
    std::int64_t quad = list.end();
    list.make_room(quad + kMostQuads);
    const std::int64_t begin = kQuad * quad;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* row = matrix + (first + r) * columns_ + panel * kPanelRows;
      if (panel + 1 < panels) fetch_row(row + kPanelRows);
      float* values = list.values.data() + kQuad * quad;
      std::uint16_t* offsets = list.offsets.data() + kQuad * quad;
      const std::int64_t found =
          loops.keep(row, panel_columns(panel), rule.positive, rule.threshold, values, offsets);
      strip.kept += found;
      // Without loops whose counts a CPU could mispredict, for up to four quads.
      std::fill_n(values + found, kQuad, 0.0F);
      std::fill_n(offsets + found, kQuad, kZeroRow);
      const std::int64_t quads = (found + kQuad - 1) / kQuad;
      std::fill_n(list.rows.data() + quad, kQuad, static_cast<std::uint16_t>(r * kPanelColumns));
      if (quads > kQuad)
        std::fill_n(list.rows.data() + quad, quads, static_cast<std::uint16_t>(r * kPanelColumns));
      quad += quads;
    }
    list.begin.push_back(quad);
    if (rule.squared) {
      at_least(strip.slopes, kQuad * quad);
      for (std::int64_t i = begin; i < kQuad * quad; ++i) {
        const float value = list.values[static_cast<std::size_t>(i)];
        strip.slopes[static_cast<std::size_t>(i)] = 2 * value;
        list.values[static_cast<std::size_t>(i)] = value * value;
      }
    }
    if (rule.by_columns) sort_by_columns(strip, panel);
  }
}

// Scalar: 2 to 3 cycles per non-zero, as long as a transpose of the tile takes at 90 % zeros.
void NonzeroLists::sort_by_columns(Strip& strip, std::int64_t panel) const {
  const Quads& from = strip.by_rows;
  Quads& to = strip.by_columns;
  std::array<std::int64_t, kPanelRows + 1> next{};  // the last: what fills up quads of rows
  const auto at = static_cast<std::size_t>(panel);
  const std::int64_t begin = kQuad * from.begin[at], end = kQuad * from.begin[at + 1];
  for (std::int64_t i = begin; i < end; ++i)
    ++next[from.offsets[static_cast<std::size_t>(i)] / kPanelColumns];
  std::int64_t quad = to.end();
  const std::int64_t most = quad + (end - begin) / kQuad + kPanelRows;
  to.make_room(most);
  at_least(strip.places, kQuad * most);
  for (std::int64_t column = 0; column < kPanelRows; ++column) {
    const std::int64_t quads = (next[static_cast<std::size_t>(column)] + kQuad - 1) / kQuad;
    next[static_cast<std::size_t>(column)] = kQuad * quad;
    for (std::int64_t q = 0; q < quads; ++q, ++quad) {
      to.rows[static_cast<std::size_t>(quad)] = static_cast<std::uint16_t>(column * kPanelColumns);
      if (q + 1 < quads) continue;
      std::fill_n(to.values.begin() + kQuad * quad, kQuad, 0.0F);
      std::fill_n(to.offsets.begin() + kQuad * quad, kQuad, kZeroRow);
      std::fill_n(strip.places.begin() + kQuad * quad, kQuad, 0U);
    }
  }
  to.begin.push_back(quad);
  for (std::size_t q = static_cast<std::size_t>(from.begin[at]);
       q < static_cast<std::size_t>(from.begin[at + 1]); ++q)
    for (std::size_t i = kQuad * q; i < kQuad * (q + 1); ++i) {
      const std::uint16_t offset = from.offsets[i];
      if (offset == kZeroRow) break;
      const auto slot = static_cast<std::size_t>(next[offset / kPanelColumns]++);
      to.values[slot] = from.values[i];
      to.offsets[slot] = from.rows[q];
      strip.places[slot] = static_cast<std::uint32_t>(i);
    }
}

double NonzeroLists::share_of_zeros() const {
  std::int64_t kept = 0;
  for (const Strip& strip : strips_) kept += strip.kept;
  return 1 - static_cast<double>(kept) / static_cast<double>(rows_ * columns_);
}

TileQuads NonzeroLists::by_rows(std::int64_t strip, std::int64_t panel, bool second) const {
  return strips_[static_cast<std::size_t>(strip)].by_rows.tile(panel, second);
}
TileQuads NonzeroLists::by_columns(std::int64_t strip, std::int64_t panel, bool second) const {
  return strips_[static_cast<std::size_t>(strip)].by_columns.tile(panel, second);
}

void NonzeroLists::begin_second(int threads) {
  for_each(strips_.size(), threads, [&](std::size_t i) {
    Quads& list = strips_[i].by_rows;
    at_least(list.second, kQuad * list.end());
    std::fill_n(list.second.begin(), kQuad * list.end(), 0.0F);
  });
}

float* NonzeroLists::second_values(std::int64_t strip, std::int64_t panel) {
  Quads& list = strips_[static_cast<std::size_t>(strip)].by_rows;
  return list.second.data() + kQuad * list.begin[static_cast<std::size_t>(panel)];
}

void NonzeroLists::end_second(int threads) {
  for_each(strips_.size(), threads, [&](std::size_t s) {
    Strip& strip = strips_[s];
    std::vector<float>& sums = strip.by_rows.second;
    if (has_slopes_)
      for (auto i = static_cast<std::size_t>(kQuad);
           i < kQuad * static_cast<std::size_t>(strip.by_rows.end()); ++i)
        sums[i] *= strip.slopes[i];
    if (!has_columns_) return;
    const auto slots = kQuad * static_cast<std::size_t>(strip.by_columns.end());
    at_least(strip.by_columns.second, static_cast<std::int64_t>(slots));
    for (std::size_t i = 0; i < slots; ++i) strip.by_columns.second[i] = sums[strip.places[i]];
  });
}

void NonzeroLists::second_column_sums(float* sums, int threads) const {
  for_each(static_cast<std::size_t>(panels_of(columns_)), threads, [&](std::size_t p) {
    const auto panel = static_cast<std::int64_t>(p);
    std::array<double, kPanelRows> totals{};
    for (const Strip& strip : strips_) {
      const TileQuads quads = strip.by_columns.tile(panel, true);
      for (std::int64_t i = 0; i < kQuad * quads.count; ++i)
        totals[static_cast<std::size_t>(quads.rows[i / kQuad] / kPanelColumns)] += quads.values[i];
    }
    for (std::int64_t c = 0; c < panel_columns(panel); ++c)
      sums[panel * kPanelRows + c] = static_cast<float>(totals[static_cast<std::size_t>(c)]);
  });
}

}  // namespace lacuna::kernels
