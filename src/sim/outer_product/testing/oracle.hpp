// The rules of docs/models/ant.md for one (image, kernel) pair, written as plainly as they are stated there
// and from nothing else of this project: the reference that both engines of both machines are tested against.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lacuna::testing {

using Matrix = std::vector<std::vector<int>>;

struct OracleAxis {  // u = e*y + P - d*r; valid iff u >= 0, u mod st = 0, u/st < out
  std::int64_t e = 1, d = 1, st = 1, p = 0, out = 1;
};
struct OracleGeometry {
  OracleAxis y, x;
  static OracleGeometry square(std::int64_t out, std::int64_t st = 1, std::int64_t d = 1, std::int64_t e = 1,
                               std::int64_t p = 0) {
    return {{e, d, st, p, out}, {e, d, st, p, out}};
  }
};

struct OracleCsr {
  std::int64_t h = 0, w = 0;
  std::vector<std::int64_t> value, col, row, ptr{0};
  explicit OracleCsr(const Matrix& m)
      : h(static_cast<std::int64_t>(m.size())), w(static_cast<std::int64_t>(m[0].size())) {
    for (std::size_t y = 0; y < m.size(); ++y) {
      for (std::size_t x = 0; x < m[y].size(); ++x) {
        if (m[y][x] == 0) continue;
        value.push_back(m[y][x]);
        col.push_back(static_cast<std::int64_t>(x));
        row.push_back(static_cast<std::int64_t>(y));
      }
      ptr.push_back(static_cast<std::int64_t>(value.size()));
    }
  }
  std::size_t n() const { return value.size(); }
};

struct OracleCounts {
  std::int64_t all = 0, valid = 0, executed = 0, steps = 0, bubbles = 0, cycles = 0, seen = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> out;
};

class Oracle {
 public:
  Oracle(const Matrix& image, const Matrix& kernel, const OracleGeometry& geometry)
      : i_(image), k_(kernel), g_(geometry) {}

  // The whole Cartesian product.
  OracleCounts brute() const {
    OracleCounts counts;
    for (std::size_t a = 0; a < i_.n(); ++a) {
      for (std::size_t b = 0; b < k_.n(); ++b) {
        ++counts.all;
        const auto at = output(a, b);
        if (at.first < 0) continue;
        ++counts.valid;
        counts.out[at] += i_.value[a] * k_.value[b];
      }
    }
    return counts;
  }

  OracleCounts scnn(std::size_t n_image, std::size_t n_kernel, std::int64_t fill, std::int64_t banks) const {
    OracleCounts counts;
    for (std::size_t a = 0; a < i_.n(); a += n_image) {
      for (std::size_t b = 0; b < k_.n(); b += n_kernel) {
        ++counts.steps;
        std::vector<std::size_t> hits;
        for (std::size_t j = b; j < std::min(b + n_kernel, k_.n()); ++j) hits.push_back(j);
        counts.cycles += step(a, std::min(a + n_image, i_.n()), hits, banks, counts);
      }
    }
    if (counts.cycles > 0) counts.cycles += fill;
    return counts;
  }

  OracleCounts ant(std::size_t n_image, std::size_t n_kernel, std::int64_t k, std::int64_t fill,
                   std::int64_t empty, std::int64_t banks) const {
    OracleCounts counts;
    for (std::size_t a = 0; a < i_.n(); a += n_image) {
      const std::size_t b = std::min(a + n_image, i_.n());
      const std::int64_t y0 = i_.row[a], y1 = i_.row[b - 1];
      const std::int64_t x0 = *std::min_element(i_.col.begin() + static_cast<std::ptrdiff_t>(a),
                                                i_.col.begin() + static_cast<std::ptrdiff_t>(b));
      const std::int64_t x1 = *std::max_element(i_.col.begin() + static_cast<std::ptrdiff_t>(a),
                                                i_.col.begin() + static_cast<std::ptrdiff_t>(b));
      const std::int64_t r0 = low(g_.y, y0), r1 = high(g_.y, y1, k_.h);
      const std::int64_t s0 = low(g_.x, x0), s1 = high(g_.x, x1, k_.w);
      std::int64_t p = 0, end = 0;
      if (r0 <= r1 && s0 <= s1) {
        p = k_.ptr[static_cast<std::size_t>(r0)];
        end = k_.ptr[static_cast<std::size_t>(r1 + 1)];
      }
      if (p >= end) {
        counts.cycles += empty;
        counts.bubbles += empty;
      }
      while (p < end) {
        std::vector<std::size_t> hits;
        for (std::int64_t j = p; j < std::min(p + k, end); ++j) {
          ++counts.seen;
          const std::int64_t c = k_.col[static_cast<std::size_t>(j)];
          if (s0 <= c && c <= s1) hits.push_back(static_cast<std::size_t>(j));
        }
        const std::int64_t next = hits.size() > n_kernel ? static_cast<std::int64_t>(hits[n_kernel]) : p + k;
        if (hits.size() > n_kernel) hits.resize(n_kernel);
        counts.steps += hits.empty() ? 0 : 1;
        counts.bubbles += hits.empty() ? 1 : 0;
        counts.cycles += step(a, b, hits, banks, counts);
        p = next;
      }
    }
    if (counts.cycles > 0) counts.cycles += fill;
    return counts;
  }

  const OracleCsr& image() const { return i_; }
  const OracleCsr& kernel() const { return k_; }

 private:
  static std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) ? 1 : 0);
  }
  static std::int64_t low(const OracleAxis& g, std::int64_t t) {
    return std::max<std::int64_t>(0, -floor_div(-(g.e * t + g.p - g.st * (g.out - 1)), g.d));
  }
  static std::int64_t high(const OracleAxis& g, std::int64_t t, std::int64_t extent) {
    return std::min(extent - 1, floor_div(g.e * t + g.p, g.d));
  }
  static std::int64_t axis_output(const OracleAxis& g, std::int64_t t, std::int64_t r) {
    const std::int64_t u = g.e * t + g.p - g.d * r;
    return u >= 0 && u % g.st == 0 && u / g.st < g.out ? u / g.st : -1;
  }
  std::pair<std::int64_t, std::int64_t> output(std::size_t a, std::size_t b) const {
    const std::int64_t oy = axis_output(g_.y, i_.row[a], k_.row[b]);
    const std::int64_t ox = axis_output(g_.x, i_.col[a], k_.col[b]);
    return oy < 0 || ox < 0 ? std::pair<std::int64_t, std::int64_t>{-1, -1} : std::pair{oy, ox};
  }
  // One step's cycles: 1, or the most useful products in one bank.
  std::int64_t step(std::size_t a, std::size_t b, const std::vector<std::size_t>& hits, std::int64_t banks,
                    OracleCounts& counts) const {
    std::map<std::int64_t, std::int64_t> in_bank;
    std::int64_t most = 1;
    for (std::size_t i = a; i < b; ++i) {
      for (const std::size_t j : hits) {
        ++counts.executed;
        const auto at = output(i, j);
        if (at.first < 0) continue;
        ++counts.valid;
        counts.out[at] += i_.value[i] * k_.value[j];
        if (banks > 0) most = std::max(most, ++in_bank[(at.first * g_.x.out + at.second) % banks]);
      }
    }
    return most;
  }

  OracleCsr i_, k_;
  OracleGeometry g_;
};

// Deterministic planes of the goldens.
inline Matrix full_plane(int h, int w) {
  Matrix m(static_cast<std::size_t>(h), std::vector<int>(static_cast<std::size_t>(w)));
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) m[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = y * w + x + 1;
  return m;
}
inline Matrix mask_plane(int h, int w, int a, int b, int m) {
  Matrix plane = full_plane(h, w);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      if ((a * y + b * x) % m != 0) plane[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = 0;
  return plane;
}

struct Golden {
  std::string name;
  Matrix image, kernel;
  OracleGeometry geometry;
  std::size_t n_image, n_kernel;
  std::int64_t k;
  std::int64_t all, valid, scnn_steps, scnn_cycles, ant_steps, ant_cycles, executed;
};

// Counts that a second program, written from the same rules, gives.
inline std::vector<Golden> goldens() {
  const Matrix w{{1, 0, 2}, {0, 3, 0}, {4, 0, 5}};  // equal to itself rotated by 180 degrees in its zeros
  const Matrix w_rotated{{5, 0, 4}, {0, 3, 0}, {2, 0, 1}};
  const auto square = OracleGeometry::square;
  return {
      {"E1",
       {{1, 0, 0}, {0, -1, 2}, {0, 0, 3}},
       {{2, -3}, {0, 0}},
       square(2, 1, 1, 1, 0),
       2,
       1,
       2,
       8,
       4,
       4,
       6,
       3,
       8,
       6},
      {"E2", full_plane(6, 6), full_plane(4, 4), square(3, 1, 1, 1, 0), 2, 2, 4, 576, 144, 144, 146, 48, 53,
       192},
      {"E2b", full_plane(6, 6), full_plane(4, 4), square(3, 1, 1, 1, 0), 4, 4, 16, 576, 144, 36, 38, 20, 25,
       320},
      {"E3", mask_plane(10, 10, 3, 7, 10), mask_plane(10, 10, 7, 1, 10), square(3, 1, 1, 1, 1), 4, 4, 16, 100,
       9, 9, 11, 3, 8, 26},
      {"E4f", mask_plane(9, 9, 2, 3, 4), w, square(4, 2, 1, 1, 0), 4, 4, 16, 115, 32, 12, 14, 10, 15, 98},
      {"E4b", mask_plane(4, 4, 1, 2, 3), w_rotated, square(9, 1, 1, 2, 2), 4, 4, 16, 30, 30, 4, 6, 4, 9, 30},
      {"E4w", mask_plane(9, 9, 2, 3, 4), mask_plane(4, 4, 1, 2, 3), square(3, 1, 2, 1, 0), 4, 4, 16, 138, 18,
       12, 14, 6, 11, 62},
  };
}

}  // namespace lacuna::testing
