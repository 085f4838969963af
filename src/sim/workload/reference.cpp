#include "sim/workload/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <stdexcept>

#include "base/ceil_div.hpp"
#include "base/vector_clones.hpp"
#include "base/work_progress.hpp"
#include "tensor/bfloat16.hpp"

namespace lacuna {
namespace {

// The reference is three plain convolutions on top of one small matrix product, blocked so that checking a
// layer costs no more than simulating it. It shares no code with the lane mapping it checks.
constexpr std::int64_t kRows = 4;      // results whose sums stay in registers together
constexpr std::int64_t kColumns = 32;  // ... times this many columns

template <typename T>
struct Panel {  // a zero-padded [depth, columns] operand
  std::vector<T> data;
  std::int64_t columns = 0;

  Panel(std::int64_t depth, std::int64_t real_columns)
      : columns(ceil_div(real_columns, kColumns) * kColumns) {
    data.assign(static_cast<std::size_t>(depth * columns), T{0});
  }
  T* row(std::int64_t d) { return data.data() + d * columns; }
  const T* row(std::int64_t d) const { return data.data() + d * columns; }
};

// sums[i][j] += sum over d of rows[i][d] * panel[d][j], for kRows rows.
template <typename T>
[[gnu::always_inline]] inline void accumulate_block(const float* const* rows, std::int64_t depth,
                                                    const T* panel, std::int64_t columns, T* sums) {
  constexpr std::int64_t kWide = 64 / sizeof(T);
  constexpr std::int64_t kVectors = kColumns / kWide;
  for (std::int64_t j = 0; j < columns; j += kColumns) {
    WideVector<T> block[kRows][kVectors];
    for (std::int64_t i = 0; i < kRows; ++i) std::memcpy(block[i], sums + i * columns + j, sizeof(block[i]));
    const T* line = panel + j;
    for (std::int64_t d = 0; d < depth; ++d, line += columns) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kVectors; ++v) {
        WideVector<T> values;
        std::memcpy(&values, line + v * kWide, sizeof(values));
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < kRows; ++i) block[i][v] += static_cast<T>(rows[i][d]) * values;
      }
    }
    for (std::int64_t i = 0; i < kRows; ++i) std::memcpy(sums + i * columns + j, block[i], sizeof(block[i]));
  }
}

LACUNA_VECTOR_CLONES void accumulate(const float* const* rows, std::int64_t depth, const float* panel,
                                     std::int64_t columns, float* sums) {
  accumulate_block<float>(rows, depth, panel, columns, sums);
}
LACUNA_VECTOR_CLONES void accumulate(const float* const* rows, std::int64_t depth, const double* panel,
                                     std::int64_t columns, double* sums) {
  accumulate_block<double>(rows, depth, panel, columns, sums);
}

// T is float where all sums are exact in it (small integers), double otherwise.
template <typename T>
class Reference {
 public:
  Reference(const LayerShape& shape, const LayerValues& values)
      : s_(shape),
        v_(values),
        zero_row_(static_cast<std::size_t>(std::max({shape.c, shape.k, shape.output_positions(), shape.n})),
                  0.0F) {}

  std::vector<double> run(Operation op) {
    switch (op) {
      case Operation::kForward:
        return forward();
      case Operation::kInputGrad:
        return input_grad();
      case Operation::kWeightGrad:
        return weight_grad();
    }
    return {};
  }

 private:
  // Row of A under an output position and tap, or nullptr outside the image.
  const float* a_row(std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t ky,
                     std::int64_t kx) const {
    const std::int64_t y = oy * s_.stride.h - s_.padding.h + ky * s_.dilation.h;
    const std::int64_t x = ox * s_.stride.w - s_.padding.w + kx * s_.dilation.w;
    if (y < 0 || y >= s_.input.h || x < 0 || x >= s_.input.w) return nullptr;
    return v_.a.row((n * s_.input.h + y) * s_.input.w + x);
  }
  // Row of G whose window has tap (ky, kx) on an input position, or nullptr if there is none.
  const float* g_row(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t ky, std::int64_t kx) const {
    const std::int64_t ty = y + s_.padding.h - ky * s_.dilation.h;
    const std::int64_t tx = x + s_.padding.w - kx * s_.dilation.w;
    if (ty < 0 || tx < 0 || ty % s_.stride.h != 0 || tx % s_.stride.w != 0) return nullptr;
    const std::int64_t oy = ty / s_.stride.h;
    const std::int64_t ox = tx / s_.stride.w;
    if (oy >= s_.output.h || ox >= s_.output.w) return nullptr;
    return v_.g.row((n * s_.output.h + oy) * s_.output.w + ox);
  }

  // Outputs of one convolution group in blocks of kRows positions; `source(row, ky, kx)` is the reduced
  // operand.
  template <typename Source>
  void convolve(std::int64_t positions, std::int64_t depth, std::int64_t results, const Panel<T>& panel,
                const Source& source, std::int64_t out_stride, std::int64_t out_offset,
                std::vector<double>& out) {
    std::vector<T> sums(static_cast<std::size_t>(kRows * panel.columns));
    WorkSteps steps(ceil_div(positions, kRows));
    for (std::int64_t first = 0; first < positions; first += kRows, steps.next()) {
      std::ranges::fill(sums, T{0});
      const std::int64_t rows = std::min(kRows, positions - first);
      for (std::int64_t ky = 0; ky < s_.kernel.h; ++ky) {
        for (std::int64_t kx = 0; kx < s_.kernel.w; ++kx) {
          const float* block[kRows];
          bool any = false;
          for (std::int64_t i = 0; i < kRows; ++i) {
            const float* row = i < rows ? source(first + i, ky, kx) : nullptr;
            any |= row != nullptr;
            block[i] = row != nullptr ? row : zero_row_.data();
          }
          if (any) {
            accumulate(block, depth, panel.row((ky * s_.kernel.w + kx) * depth), panel.columns, sums.data());
          }
        }
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < results; ++j) {
          out[static_cast<std::size_t>((first + i) * out_stride + out_offset + j)] =
              static_cast<double>(sums[static_cast<std::size_t>(i * panel.columns + j)]);
        }
      }
    }
  }

  // The source of convolve() whose positions are those of `plane` in every sample: row_of(n, y, x, ky, kx)
  // from channel `first` on, or null where that is outside.
  template <typename RowOf>
  static auto positions_of(Size2 plane, std::int64_t first, const RowOf& row_of) {
    return [=](std::int64_t position, std::int64_t ky, std::int64_t kx) -> const float* {
      const std::int64_t line = position / plane.w;
      const float* row = row_of(line / plane.h, line % plane.h, position % plane.w, ky, kx);
      return row == nullptr ? nullptr : row + first;
    };
  }

  std::vector<double> forward() {
    std::vector<double> out(static_cast<std::size_t>(s_.g_elements()));
    const std::int64_t c = s_.c_per_group();
    const std::int64_t k = s_.k_per_group();
    for (std::int64_t group = 0; group < s_.groups; ++group) {
      Panel<T> panel(s_.taps() * c, k);
      for (std::int64_t f = 0; f < k; ++f) {
        for (std::int64_t tap = 0; tap < s_.taps(); ++tap) {
          const float* w = v_.w.row((group * k + f) * s_.taps() + tap);
          for (std::int64_t i = 0; i < c; ++i) panel.row(tap * c + i)[f] = w[i];
        }
      }
      const auto source = positions_of(s_.output, group * c, [&](auto... at) { return a_row(at...); });
      convolve(s_.n * s_.output_positions(), c, k, panel, source, s_.k, group * k, out);
    }
    return out;
  }

  std::vector<double> input_grad() {
    std::vector<double> out(static_cast<std::size_t>(s_.a_elements()));
    const std::int64_t c = s_.c_per_group();
    const std::int64_t k = s_.k_per_group();
    for (std::int64_t group = 0; group < s_.groups; ++group) {
      Panel<T> panel(s_.taps() * k, c);
      for (std::int64_t f = 0; f < k; ++f) {
        for (std::int64_t tap = 0; tap < s_.taps(); ++tap) {
          const float* w = v_.w.row((group * k + f) * s_.taps() + tap);
          std::copy_n(w, c, panel.row(tap * k + f));
        }
      }
      const auto source = positions_of(s_.input, group * k, [&](auto... at) { return g_row(at...); });
      convolve(s_.n * s_.input_positions(), k, c, panel, source, s_.c, group * c, out);
    }
    return out;
  }

  std::vector<double> weight_grad() {
    std::vector<double> out(static_cast<std::size_t>(s_.w_elements()));
    const std::int64_t c = s_.c_per_group();
    const std::int64_t k = s_.k_per_group();
    const std::int64_t positions = s_.output_positions();
    // G with positions last, so that a filter's gradients of a sample are one row.
    std::vector<float> transposed(v_.g.data.size());
    for (std::int64_t n = 0; n < s_.n; ++n) {
      for (std::int64_t p = 0; p < positions; ++p) {
        const float* row = v_.g.row(n * positions + p);
        for (std::int64_t f = 0; f < s_.k; ++f) {
          transposed[static_cast<std::size_t>((n * s_.k + f) * positions + p)] = row[f];
        }
      }
    }
    Panel<T> panel(positions, c);
    for (std::int64_t group = 0; group < s_.groups; ++group) {
      for (const std::int64_t tap : in_steps(s_.taps())) {
        const std::int64_t blocks = ceil_div(k, kRows);
        std::vector<T> sums(static_cast<std::size_t>(blocks * kRows * panel.columns), T{0});
        for (std::int64_t n = 0; n < s_.n; ++n) {
          for (std::int64_t p = 0; p < positions; ++p) {
            const float* row =
                a_row(n, p / s_.output.w, p % s_.output.w, tap / s_.kernel.w, tap % s_.kernel.w);
            if (row == nullptr) {
              std::fill_n(panel.row(p), c, T{0});
            } else {
              std::copy_n(row + group * c, c, panel.row(p));
            }
          }
          for (std::int64_t b = 0; b < blocks; ++b) {
            const float* rows[kRows];
            for (std::int64_t i = 0; i < kRows; ++i) {
              const std::int64_t f = b * kRows + i;
              rows[i] = f < k ? transposed.data() + (n * s_.k + group * k + f) * positions : zero_row_.data();
            }
            accumulate(rows, positions, panel.row(0), panel.columns, sums.data() + b * kRows * panel.columns);
          }
        }
        for (std::int64_t f = 0; f < k; ++f) {
          for (std::int64_t i = 0; i < c; ++i) {
            out[static_cast<std::size_t>(((group * k + f) * s_.taps() + tap) * c + i)] =
                static_cast<double>(sums[static_cast<std::size_t>(f * panel.columns + i)]);
          }
        }
      }
    }
    return out;
  }

  const LayerShape& s_;
  const LayerValues& v_;
  std::vector<float> zero_row_;
};

bool exact_operands(Operation op, const LayerValues& values) {
  const auto [primary, secondary] = operands(op);
  return values.of(primary).exact && values.of(secondary).exact;
}

std::int64_t reduction_length(const LayerShape& s, Operation op) {
  switch (op) {
    case Operation::kForward:
      return s.taps() * s.c_per_group();
    case Operation::kInputGrad:
      return s.taps() * s.k_per_group();
    case Operation::kWeightGrad:
      return s.n * s.output_positions();
  }
  return 0;
}

}  // namespace

std::int64_t result_elements(const LayerShape& shape, Operation op) {
  switch (op) {
    case Operation::kForward:
      return shape.g_elements();
    case Operation::kInputGrad:
      return shape.a_elements();
    case Operation::kWeightGrad:
      return shape.w_elements();
  }
  return 0;
}

std::vector<double> reference_result(const LayerShape& shape, Operation op, const LayerValues& values) {
  // 9 * length < 2^24: sums of products of integers in -3..3 stay exact in FP32.
  if (exact_operands(op, values) && 9 * reduction_length(shape, op) < (1 << 24)) {
    return Reference<float>(shape, values).run(op);
  }
  return Reference<double>(shape, values).run(op);
}

void check_against_reference(const LayerShape& shape, Operation op, const LayerValues& values,
                             const std::vector<float>& computed, const MaskView* needed) {
  std::vector<double> expected = reference_result(shape, op, values);
  if (expected.size() != computed.size()) throw std::logic_error("the engine's result has the wrong size");
  std::vector<double> magnitude;
  if (!exact_operands(op, values)) {
    LayerValues absolute = values;
    for (TensorValues* tensor : {&absolute.a, &absolute.w, &absolute.g}) {
      for (float& value : tensor->data) value = std::fabs(value);
    }
    magnitude = reference_result(shape, op, absolute);
  }
  const double unit = static_cast<double>(reduction_length(shape, op) + 1) * 0x1p-23;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double bound = magnitude.empty() ? 0.0 : unit * magnitude[i];
    const auto at = static_cast<std::int64_t>(i);
    if (needed != nullptr && !needed->bit(at / needed->channels, at % needed->channels))
      expected[i] = bound = 0;
    if (!(std::fabs(static_cast<double>(computed[i]) - expected[i]) <= bound)) {
      throw std::logic_error(fmt::format("{}: result {} is {}, the reference convolution gives {} (bound {})",
                                         operation_name(op), i, computed[i], expected[i], bound));
    }
  }
}

}  // namespace lacuna
