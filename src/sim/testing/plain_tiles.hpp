// The operations of a layer on tiles, written out plainly from their definition for tests: the twin of
// lane_products() and place_operation(), with which it shares no code. Small layers only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "trace/trace.hpp"

namespace lacuna::testing {

// A lane of a step.
enum class Lane : std::int8_t { kNone, kZero, kNonzero };
using PlainStep = std::vector<Lane>;
// `period`: steps of a stream that belong to one position, image or tap; `steps` is a multiple of it.
using PlainStream = std::vector<PlainStep>;

struct PlainProduct {
  std::int64_t period = 1;
  std::vector<PlainStream> primary, secondary;
};

class PlainTiles {
 public:
  PlainTiles(const Layer& layer, Operation op, std::int64_t lanes)
      : layer_(layer), s_(layer.shape), lanes_(lanes) {
    for (std::int64_t group = 0; group < s_.groups; ++group) {
      if (op == Operation::kForward) forward(group);
      if (op == Operation::kInputGrad) input_grad(group);
      if (op == Operation::kWeightGrad) weight_grad(group);
    }
  }

  const std::vector<PlainProduct>& products() const { return products_; }

  // Returns true if the secondary operand has the larger share of zeros, so that it is the one on the rows.
  static bool secondary_is_sparser(const Layer& layer, Operation op) {
    const LayerTensor& p = op == Operation::kForward ? layer.a : layer.g;
    const LayerTensor& o = op == Operation::kWeightGrad ? layer.a : layer.w;
    return static_cast<long double>(zeros(o)) * static_cast<long double>(p.elements()) >
           static_cast<long double>(zeros(p)) * static_cast<long double>(o.elements());
  }

 private:
  static std::int64_t zeros(const LayerTensor& tensor) {
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < tensor.mask.rows; ++r) {
      for (std::int64_t c = 0; c < tensor.mask.channels; ++c) count += tensor.mask.bit(r, c) ? 0 : 1;
    }
    return count;
  }
  static Lane lane(const LayerTensor& tensor, std::int64_t row, std::int64_t channel) {
    return tensor.mask.bit(row, channel) ? Lane::kNonzero : Lane::kZero;
  }
  Lane a(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (y < 0 || x < 0 || y >= s_.input.h || x >= s_.input.w) return Lane::kZero;
    return lane(layer_.a, (n * s_.input.h + y) * s_.input.w + x, c);
  }
  Lane g(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t k) const {
    if (y < 0 || x < 0 || y >= s_.output.h || x >= s_.output.w) return Lane::kZero;
    return lane(layer_.g, (n * s_.output.h + y) * s_.output.w + x, k);
  }
  Lane w(std::int64_t k, std::int64_t ky, std::int64_t kx, std::int64_t c) const {
    return lane(layer_.w, (k * s_.kernel.h + ky) * s_.kernel.w + kx, c);
  }

  // Appends `count` elements to a stream, `lanes` per step.
  template <typename Element>
  void append(PlainStream& stream, std::int64_t count, const Element& element) const {
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % lanes_ == 0) stream.emplace_back(static_cast<std::size_t>(lanes_), Lane::kNone);
      stream.back()[static_cast<std::size_t>(i % lanes_)] = element(i);
    }
  }
  std::int64_t steps_of(std::int64_t count) const { return (count + lanes_ - 1) / lanes_; }

  void forward(std::int64_t group) {
    const std::int64_t cs = s_.c / s_.groups, ks = s_.k / s_.groups;
    PlainProduct product{steps_of(cs), {}, {}};
    for (std::int64_t n = 0; n < s_.n; ++n) {
      for (std::int64_t oy = 0; oy < s_.output.h; ++oy) {
        for (std::int64_t ox = 0; ox < s_.output.w; ++ox) {
          PlainStream& stream = product.primary.emplace_back();
          for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky) {
            for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
              append(stream, cs, [&](std::int64_t c) {
                return a(n, oy * s_.stride.h + ky * s_.dilation.h - s_.padding.h,
                         ox * s_.stride.w + kx * s_.dilation.w - s_.padding.w, group * cs + c);
              });
            }
          }
        }
      }
    }
    for (std::int64_t k = 0; k < ks; ++k) {
      PlainStream& stream = product.secondary.emplace_back();
      for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky) {
        for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
          append(stream, cs, [&](std::int64_t c) { return w(group * ks + k, ky, kx, c); });
        }
      }
    }
    products_.push_back(std::move(product));
  }

  // The taps by which an input position meets outputs are those of its phase of the stride.
  void input_grad(std::int64_t group) {
    const std::int64_t cs = s_.c / s_.groups, ks = s_.k / s_.groups;
    for (std::int64_t py = 0; py < s_.stride.h; ++py) {
      for (std::int64_t px = 0; px < s_.stride.w; ++px) {
        struct PhaseTap {
          std::int64_t ky, kx;
        };
        std::vector<PhaseTap> taps;
        for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky) {
          for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
            if ((py + s_.padding.h - ky * s_.dilation.h) % s_.stride.h == 0 &&
                (px + s_.padding.w - kx * s_.dilation.w) % s_.stride.w == 0)
              taps.push_back({ky, kx});
          }
        }
        PlainProduct product{steps_of(ks), {}, {}};
        for (std::int64_t n = 0; n < s_.n; ++n) {
          for (std::int64_t y = py; y < s_.input.h; y += s_.stride.h) {
            for (std::int64_t x = px; x < s_.input.w; x += s_.stride.w) {
              PlainStream& stream = product.primary.emplace_back();
              for (const auto& [ky, kx] : taps) {
                append(stream, ks, [&, ky = ky, kx = kx](std::int64_t k) {
                  return g(n, (y + s_.padding.h - ky * s_.dilation.h) / s_.stride.h,
                           (x + s_.padding.w - kx * s_.dilation.w) / s_.stride.w, group * ks + k);
                });
              }
            }
          }
        }
        for (std::int64_t c = 0; c < cs; ++c) {
          PlainStream& stream = product.secondary.emplace_back();
          for (const auto& [ky, kx] : taps) {
            append(stream, ks,
                   [&, ky = ky, kx = kx](std::int64_t k) { return w(group * ks + k, ky, kx, c); });
          }
        }
        if (!taps.empty() && !product.primary.empty()) products_.push_back(std::move(product));
      }
    }
  }

  void weight_grad(std::int64_t group) {
    const std::int64_t cs = s_.c / s_.groups, ks = s_.k / s_.groups;
    const bool linear = s_.kind != LayerKind::kConv2d;
    const std::int64_t positions = s_.output.h * s_.output.w;
    PlainProduct product{steps_of(linear ? s_.n : positions), {}, {}};
    // A stream of either operand: `element(image, oy, ox)`, images one after another, or across the lanes.
    const auto fill = [&](PlainStream& stream, const auto& element) {
      if (linear) {
        append(stream, s_.n, [&](std::int64_t n) { return element(n, 0, 0); });
        return;
      }
      for (std::int64_t n = 0; n < s_.n; ++n) {
        append(stream, positions,
               [&](std::int64_t p) { return element(n, p / s_.output.w, p % s_.output.w); });
      }
    };
    for (std::int64_t k = 0; k < ks; ++k) {
      fill(product.primary.emplace_back(),
           [&](std::int64_t n, std::int64_t oy, std::int64_t ox) { return g(n, oy, ox, group * ks + k); });
    }
    for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky) {
      for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
        for (std::int64_t c = 0; c < cs; ++c) {
          fill(product.secondary.emplace_back(), [&](std::int64_t n, std::int64_t oy, std::int64_t ox) {
            return a(n, oy * s_.stride.h + ky * s_.dilation.h - s_.padding.h,
                     ox * s_.stride.w + kx * s_.dilation.w - s_.padding.w, group * cs + c);
          });
        }
      }
    }
    products_.push_back(std::move(product));
  }

  const Layer& layer_;
  const LayerShape& s_;
  std::int64_t lanes_;
  std::vector<PlainProduct> products_;
};

// Division of row_streams x column_streams between `tiles` tiles of rows x columns: in the grid that takes a
// dense machine least, ties to more tile rows or to the squarest; column groups in contiguous blocks, row
// groups by `dealing`.
struct PlainGrid {
  struct Rule {
    bool square = false;
    std::string dealing = "blocks";
  };
  Rule rule;
  std::int64_t row_groups, column_groups;  // of the product
  std::int64_t tile_rows = 0, rows_each = 0, columns_each = 0;

  PlainGrid(std::int64_t row_streams, std::int64_t column_streams, std::int64_t tiles, std::int64_t rows,
            std::int64_t columns, Rule by)
      : rule(std::move(by)),
        row_groups((row_streams + rows - 1) / rows),
        column_groups((column_streams + columns - 1) / columns) {
    std::int64_t least_edges = 0;
    for (std::int64_t high = tiles; high >= 1; --high) {
      if (tiles % high != 0) continue;
      const std::int64_t wide = tiles / high;
      const std::int64_t r = (row_groups + high - 1) / high, c = (column_groups + wide - 1) / wide;
      const bool tie_won = rule.square && high + wide < least_edges;
      if (tile_rows == 0 || r * c < rows_each * columns_each ||
          (r * c == rows_each * columns_each && tie_won)) {
        tile_rows = high;
        rows_each = r;
        columns_each = c;
        least_edges = high + wide;
      }
    }
  }

  // A row of PEs, or all that a tile has, takes the streams, or groups of them, that take `cycles`: when the
  // slowest of `lines` per tile row is done.
  std::int64_t slowest(const std::vector<std::int64_t>& cycles, std::int64_t lines) const {
    std::vector<std::int64_t> busy(static_cast<std::size_t>(tile_rows * lines), 0);
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i), group = at / lines;
      const std::int64_t tile_row = rule.dealing == "blocks" ? group / rows_each : group % tile_rows;
      const auto line = rule.dealing == "queue"
                            ? std::min_element(busy.begin(), busy.end())
                            : busy.begin() + static_cast<std::ptrdiff_t>(tile_row * lines + at % lines);
      *line += cycles[i];
    }
    return *std::max_element(busy.begin(), busy.end());
  }

  // The slowest tile, each pair of groups taking pair_cycles(row group, column group).
  template <typename PairCycles>
  std::int64_t slowest_tile(const PairCycles& pair_cycles) const {
    std::int64_t latest = 0;
    for (std::int64_t c0 = 0; c0 < column_groups; c0 += columns_each) {
      std::vector<std::int64_t> cycles(static_cast<std::size_t>(row_groups), 0);
      for (std::int64_t r = 0; r < row_groups; ++r) {
        for (std::int64_t c = c0; c < std::min(column_groups, c0 + columns_each); ++c)
          cycles[static_cast<std::size_t>(r)] += pair_cycles(r, c);
      }
      latest = std::max(latest, slowest(cycles, 1));
    }
    return latest;
  }
};

inline PlainGrid::Rule random_rule(Random& random) {
  constexpr const char* kDealings[] = {"blocks", "turns", "queue"};
  return {.square = random.chance(0.5), .dealing = kDealings[random.integer(0, 2)]};
}

}  // namespace lacuna::testing
