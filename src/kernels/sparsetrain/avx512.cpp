// The row kernels, compiled for AVX-512.
#include <immintrin.h>

#include "kernels/sparsetrain/row_kernels.hpp"

#define LACUNA_INLINE __attribute__((always_inline)) inline
// Keeps a pointer in one register, so that every multiply-add uses base + constant: an indexed address splits
// the fused operation in two on Intel's cores.
#define LACUNA_PIN(pointer) __asm__("" : "+r"(pointer))

namespace lacuna::kernels::sparsetrain {
namespace {

using V = __m512;
constexpr int kLanes = 16;

// "Identify zeros in a dense data representation" [SparseTrain]: one vector compare, one bit per value. NaN
// counts as non-zero, -0.0 as zero.
LACUNA_INLINE std::uint32_t nonzero(const float* values) {
  return _cvtmask16_u32(_mm512_cmp_ps_mask(_mm512_load_ps(values), _mm512_setzero_ps(), _CMP_NEQ_UQ));
}

// Lowest set bit of the mask, which it clears.
LACUNA_INLINE std::size_t take_bit(std::uint32_t& mask) {
  const auto bit = static_cast<std::size_t>(__builtin_ctz(mask));
  mask &= mask - 1;
  return bit;
}

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};
LACUNA_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
LACUNA_INLINE std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
LACUNA_INLINE std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
// `whole` with at least nothing in it, so that what lies before and after covers the row once.
LACUNA_INLINE Interval not_negative(Interval whole) { return {whole.begin, most(whole.begin, whole.end)}; }

// Steps of a gather in which every tap meets a column of the other row. Step m has the checked columns
// m * stride - padding + j, j < stride, and the other columns m, m - 1, ...
template <int KW, int Stride>
LACUNA_INLINE Interval gather_steps(std::int64_t checked, std::int64_t other, std::int64_t padding) {
  constexpr int kColumns = (KW + Stride - 1) / Stride;
  const std::int64_t last = checked - Stride + padding;  // m * stride <= last
  return not_negative(
      {most(ceil_of(padding, Stride), kColumns - 1), last < 0 ? 0 : least(other, last / Stride + 1)});
}
template <int KW, int Stride>
LACUNA_INLINE Interval scatter_steps(std::int64_t checked, std::int64_t other, std::int64_t padding) {
  const std::int64_t last = other - KW + padding;
  return not_negative({ceil_of(padding, Stride), last < 0 ? 0 : least(checked, last / Stride + 1)});
}

// The taps of a checked column at the edge of a row: `count` of them from tap `first` on, with the other
// column of the first one.
struct EdgeTaps {
  std::int64_t first;
  std::int64_t count;
  std::int64_t column;
};
template <int KW, int Stride>
LACUNA_INLINE EdgeTaps gather_taps(std::int64_t u, std::int64_t other, std::int64_t padding) {
  const std::int64_t j = (u + padding) % Stride;
  const std::int64_t m = (u + padding) / Stride;
  const std::int64_t t = most(0, m - other + 1);
  return {j + t * Stride, least(m, (KW - 1 - j) / Stride) - t + 1, m - t};
}
template <int KW, int Stride>
LACUNA_INLINE EdgeTaps scatter_taps(std::int64_t u, std::int64_t other, std::int64_t padding) {
  const std::int64_t start = u * Stride - padding;
  const std::int64_t first = most(0, -start);
  return {first, least(KW, other - start) - first, start + first};
}

// ---- forward, input_grad

// One pixel into `NT` columns, whose sums are loaded and stored: at the edges of a row.
template <int KW, int KV, int TapStep, int ColumnStep, int NT>
__attribute__((noinline)) void sweep_edge(const float* values, float* dst, std::ptrdiff_t block,
                                          const float* weights) {
  V acc[NT][KV];
#pragma GCC unroll 8
  for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) acc[t][k] = _mm512_load_ps(dst + t * ColumnStep * kLanes + k * block);
  std::uint32_t mask = nonzero(values);
  while (mask != 0) {
    const std::size_t i = take_bit(mask);
    const float* wt = weights + i * (KW * KV * kLanes);
    LACUNA_PIN(wt);
    const V value = _mm512_set1_ps(values[i]);
#pragma GCC unroll 8
    for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
      for (int k = 0; k < KV; ++k)
        acc[t][k] = _mm512_fmadd_ps(value, _mm512_load_ps(wt + (t * TapStep * KV + k) * kLanes), acc[t][k]);
  }
#pragma GCC unroll 8
  for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) _mm512_store_ps(dst + t * ColumnStep * kLanes + k * block, acc[t][k]);
}

template <int KW, int KV, int TapStep, int ColumnStep, int NT>
void sweep_edge_of(const SweepRow& run, std::int64_t u, const EdgeTaps& taps) {
  if (taps.count == NT)
    sweep_edge<KW, KV, TapStep, ColumnStep, NT>(run.src + u * kLanes, run.dst + taps.column * kLanes,
                                                run.dst_block, run.weights + taps.first * KV * kLanes);
  else if constexpr (NT > 1)
    sweep_edge_of<KW, KV, TapStep, ColumnStep, NT - 1>(run, u, taps);
}

// What gather and scatter share: the mask of the next column is made before the loop over the bits of this
// one ("the next compare is issued early" [SparseTrain]).
class MaskAhead {
 public:
  LACUNA_INLINE MaskAhead(const float* first, const float* last) : last_(last), next_(nonzero(first)) {}
  LACUNA_INLINE std::uint32_t take(const float* values) {
    const std::uint32_t mask = next_;
    next_ = nonzero(values < last_ ? values + kLanes : values);
    return mask;
  }

 private:
  const float* last_;
  std::uint32_t next_;
};

// Columns rotate through the accumulators: a step loads one column, adds to all and stores the finished one.
// Column m is in slot m modulo the number of columns, so the loop is unrolled that many times.
template <int KW, int Stride, int KV>
struct GatherSweep {
  static constexpr int kColumns = (KW + Stride - 1) / Stride;
  V acc[kColumns][KV];
  const SweepRow& run;
  MaskAhead ahead;

  LACUNA_INLINE GatherSweep(const SweepRow& row, std::int64_t first)
      : run(row), ahead(row.src + first * kLanes, row.src + (row.src_width - 1) * kLanes) {}

  template <int Slot>
  LACUNA_INLINE void load(std::int64_t column) {
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) acc[Slot][k] = _mm512_load_ps(run.dst + column * kLanes + k * run.dst_block);
  }
  template <int Slot>
  LACUNA_INLINE void store(std::int64_t column) {
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) _mm512_store_ps(run.dst + column * kLanes + k * run.dst_block, acc[Slot][k]);
  }
  template <int Slot, int J>
  LACUNA_INLINE void pixels(std::int64_t u) {
    if constexpr (J < Stride) {
      const float* values = run.src + u * kLanes;
      std::uint32_t mask = ahead.take(values);
      while (mask != 0) {
        const std::size_t i = take_bit(mask);
        const float* wt = run.weights + i * (KW * KV * kLanes);
        LACUNA_PIN(wt);
        const V value = _mm512_set1_ps(values[i]);
#pragma GCC unroll 8
        for (int t = 0; J + t * Stride < KW; ++t)
#pragma GCC unroll 8
          for (int k = 0; k < KV; ++k) {
            V& sum = acc[(Slot + kColumns - t) % kColumns][k];
            sum = _mm512_fmadd_ps(value, _mm512_load_ps(wt + ((J + t * Stride) * KV + k) * kLanes), sum);
          }
      }
      pixels<Slot, J + 1>(u + 1);
    }
  }
  template <int Slot, int Count>
  LACUNA_INLINE void steps(std::int64_t m) {
    if constexpr (Slot < Count) {
      load<Slot>(m);
      pixels<Slot, 0>(m * Stride - run.padding);
      store<(Slot + 1) % kColumns>(m - kColumns + 1);
      steps<Slot + 1, Count>(m + 1);
    }
  }
  // Columns end - 1 .. end - kColumns + 1, the last of which is in slot Count - 1.
  template <int Count, int T = 0>
  LACUNA_INLINE void store_rest(std::int64_t end) {
    if constexpr (T < kColumns - 1) {
      store<(Count - 1 - T + 2 * kColumns) % kColumns>(end - 1 - T);
      store_rest<Count, T + 1>(end);
    }
  }
  template <int T = 1>
  LACUNA_INLINE void load_first(std::int64_t m) {
    if constexpr (T < kColumns) {
      load<kColumns - T>(m - T);
      load_first<T + 1>(m);
    }
  }
  template <int Count>
  LACUNA_INLINE void finish(std::int64_t m, std::int64_t end) {
    if (end - m == Count) {
      steps<0, Count>(m);
      store_rest<Count>(end);
    } else if constexpr (Count > 0) {
      finish<Count - 1>(m, end);
    }
  }
  LACUNA_INLINE void sweep(const Interval& range) {
    load_first(range.begin);
    std::int64_t m = range.begin;
    for (; m + kColumns <= range.end; m += kColumns) steps<0, kColumns>(m);
    finish<kColumns - 1>(m, range.end);
  }
};

template <int KW, int Stride, int KV>
void gather_sweep(const SweepRow& run) {
  constexpr int kColumns = (KW + Stride - 1) / Stride;
  const Interval range = gather_steps<KW, Stride>(run.src_width, run.dst_width, run.padding);
  const auto edges = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u)
      sweep_edge_of<KW, KV, Stride, -1, kColumns>(run, u,
                                                  gather_taps<KW, Stride>(u, run.dst_width, run.padding));
  };
  edges(0, least(run.src_width, range.begin * Stride - run.padding));
  if (range.begin < range.end)
    GatherSweep<KW, Stride, KV>(run, range.begin * Stride - run.padding).sweep(range);
  edges(most(0, range.end * Stride - run.padding), run.src_width);
}

// The other direction, for strides above 1: each step moves on by `Stride` columns.
template <int KW, int Stride, int KV>
struct ScatterSweep {
  static_assert(KW % Stride != 0 && Stride < KW);  // KW steps until the slots are where they were
  V acc[KW][KV];
  const SweepRow& run;
  MaskAhead ahead;

  LACUNA_INLINE ScatterSweep(const SweepRow& row, std::int64_t first)
      : run(row), ahead(row.src + first * kLanes, row.src + (row.src_width - 1) * kLanes) {}

  template <int Slot>
  LACUNA_INLINE void load(std::int64_t column) {
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k)
      acc[Slot % KW][k] = _mm512_load_ps(run.dst + column * kLanes + k * run.dst_block);
  }
  template <int Slot>
  LACUNA_INLINE void store(std::int64_t column) {
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k)
      _mm512_store_ps(run.dst + column * kLanes + k * run.dst_block, acc[Slot % KW][k]);
  }
  template <int Slot, int First, int End>
  LACUNA_INLINE void load_all(std::int64_t column) {
    if constexpr (First < End) {
      load<Slot + First>(column + First);
      load_all<Slot, First + 1, End>(column);
    }
  }
  template <int Slot, int First, int End>
  LACUNA_INLINE void store_all(std::int64_t column) {
    if constexpr (First < End) {
      store<Slot + First>(column + First);
      store_all<Slot, First + 1, End>(column);
    }
  }
  template <int Step, int Count>
  LACUNA_INLINE void steps(std::int64_t u) {
    if constexpr (Step < Count) {
      constexpr int kSlot = Step * Stride % KW;
      const std::int64_t column = u * Stride - run.padding;
      load_all<kSlot, KW - Stride, KW>(column);
      const float* values = run.src + u * kLanes;
      std::uint32_t mask = ahead.take(values);
      while (mask != 0) {
        const std::size_t i = take_bit(mask);
        const float* wt = run.weights + i * (KW * KV * kLanes);
        LACUNA_PIN(wt);
        const V value = _mm512_set1_ps(values[i]);
#pragma GCC unroll 8
        for (int s = 0; s < KW; ++s)
#pragma GCC unroll 8
          for (int k = 0; k < KV; ++k) {
            V& sum = acc[(kSlot + s) % KW][k];
            sum = _mm512_fmadd_ps(value, _mm512_load_ps(wt + (s * KV + k) * kLanes), sum);
          }
      }
      store_all<kSlot, 0, Stride>(column);
      steps<Step + 1, Count>(u + 1);
    }
  }
  template <int Count>
  LACUNA_INLINE void finish(std::int64_t u, std::int64_t end) {
    if (end - u == Count) {
      steps<0, Count>(u);
      store_all<Count * Stride % KW, 0, KW - Stride>(end * Stride - run.padding);
    } else if constexpr (Count > 0) {
      finish<Count - 1>(u, end);
    }
  }
  LACUNA_INLINE void sweep(const Interval& range) {
    load_all<0, 0, KW - Stride>(range.begin * Stride - run.padding);
    std::int64_t u = range.begin;
    for (; u + KW <= range.end; u += KW) steps<0, KW>(u);
    finish<KW - 1>(u, range.end);
  }
};

template <int KW, int Stride, int KV>
void scatter_sweep(const SweepRow& run) {
  const Interval range = scatter_steps<KW, Stride>(run.src_width, run.dst_width, run.padding);
  const auto edges = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u)
      sweep_edge_of<KW, KV, 1, 1, KW>(run, u, scatter_taps<KW, Stride>(u, run.dst_width, run.padding));
  };
  edges(0, least(run.src_width, range.begin));
  if (range.begin < range.end) ScatterSweep<KW, Stride, KV>(run, range.begin).sweep(range);
  edges(range.end, run.src_width);
}

// One tap: nothing rotates, each pixel has sums of its own.
template <int KV>
void pixel_sweep(const SweepRow& run) {
  const float* src = run.src;
  float* dst = run.dst;
  std::uint32_t next = nonzero(src);
  for (std::int64_t left = run.src_width; left > 0; --left) {
    std::uint32_t mask = next;
    next = nonzero(left > 1 ? src + run.src_step : src);
    V acc[KV];
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) acc[k] = _mm512_load_ps(dst + k * run.dst_block);
    while (mask != 0) {
      const std::size_t i = take_bit(mask);
      const float* wt = run.weights + i * (KV * kLanes);
      LACUNA_PIN(wt);
      const V value = _mm512_set1_ps(src[i]);
#pragma GCC unroll 8
      for (int k = 0; k < KV; ++k) acc[k] = _mm512_fmadd_ps(value, _mm512_load_ps(wt + k * kLanes), acc[k]);
    }
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) _mm512_store_ps(dst + k * run.dst_block, acc[k]);
    src += run.src_step;
    dst += run.dst_step;
  }
}

// ---- weight_grad

// Adds one column of 16 images to the sums of `NT` taps; `dense` is the column of the first of them.
template <int KV, int ColumnStep, int NT>
LACUNA_INLINE void add_images(V (&acc)[NT][KV], std::uint32_t mask, const float* values, const float* dense) {
  while (mask != 0) {
    const std::size_t i = take_bit(mask);
    const V value = _mm512_set1_ps(values[i]);
    const float* y = dense + i * (KV * kLanes);
    LACUNA_PIN(y);
#pragma GCC unroll 8
    for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
      for (int k = 0; k < KV; ++k)
        acc[t][k] = _mm512_fmadd_ps(value, _mm512_load_ps(y + (t * ColumnStep * kLanes * KV + k) * kLanes),
                                    acc[t][k]);
  }
}

template <int KV, int TapStep, int NT>
LACUNA_INLINE void load_sums(V (&acc)[NT][KV], const float* dw) {
#pragma GCC unroll 8
  for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) acc[t][k] = _mm512_load_ps(dw + (t * TapStep * KV + k) * kLanes);
}
template <int KV, int TapStep, int NT>
LACUNA_INLINE void store_sums(const V (&acc)[NT][KV], float* dw) {
#pragma GCC unroll 8
  for (int t = 0; t < NT; ++t)
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) _mm512_store_ps(dw + (t * TapStep * KV + k) * kLanes, acc[t][k]);
}

template <int KV, int TapStep, int ColumnStep, int NT>
__attribute__((noinline)) void weight_edge(const WeightRow& run, std::int64_t u, const EdgeTaps& taps) {
  V acc[NT][KV];
  float* dw = run.dw + taps.first * KV * kLanes;
  const float* values = run.checked + u * kLanes;
  load_sums<KV, TapStep, NT>(acc, dw);
  add_images<KV, ColumnStep, NT>(acc, nonzero(values), values,
                                 run.dense + taps.column * (kLanes * KV * kLanes));
  store_sums<KV, TapStep, NT>(acc, dw);
}

template <int KV, int TapStep, int ColumnStep, int NT>
void weight_edge_of(const WeightRow& run, std::int64_t u, const EdgeTaps& taps) {
  if (taps.count == NT)
    weight_edge<KV, TapStep, ColumnStep, NT>(run, u, taps);
  else if constexpr (NT > 1)
    weight_edge_of<KV, TapStep, ColumnStep, NT - 1>(run, u, taps);
}

// The accumulators of all taps stay in registers over the row. With a stride, each checked column has its own
// part of the taps: those of phase J are J, J + Stride, ...
template <int KW, int Stride, int KV, int J>
LACUNA_INLINE void gather_phases(const WeightRow& run, const Interval& range);

template <int KW, int Stride, int KV>
void gather_weight(const WeightRow& run) {
  constexpr int kColumns = (KW + Stride - 1) / Stride;
  const Interval range = gather_steps<KW, Stride>(run.checked_width, run.dense_width, run.padding);
  const auto edges = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u)
      weight_edge_of<KV, Stride, -1, kColumns>(run, u,
                                               gather_taps<KW, Stride>(u, run.dense_width, run.padding));
  };
  edges(0, least(run.checked_width, range.begin * Stride - run.padding));
  if (range.begin < range.end) gather_phases<KW, Stride, KV, 0>(run, range);
  edges(most(0, range.end * Stride - run.padding), run.checked_width);
}

// One sweep over the row per phase: phases share no sums.
template <int KW, int Stride, int KV, int J>
LACUNA_INLINE void gather_phases(const WeightRow& run, const Interval& range) {
  if constexpr (J < Stride) {
    constexpr int kTaps = (KW - J + Stride - 1) / Stride;
    V acc[kTaps][KV];
    float* dw = run.dw + J * KV * kLanes;
    load_sums<KV, Stride, kTaps>(acc, dw);
    const float* values = run.checked + (range.begin * Stride - run.padding + J) * kLanes;
    std::uint32_t next = nonzero(values);
    for (std::int64_t m = range.begin; m < range.end; ++m) {
      const std::uint32_t mask = next;
      next = nonzero(m + 1 < range.end ? values + Stride * kLanes : values);
      add_images<KV, -1, kTaps>(acc, mask, values, run.dense + m * (kLanes * KV * kLanes));
      values += Stride * kLanes;
    }
    store_sums<KV, Stride, kTaps>(acc, dw);
    gather_phases<KW, Stride, KV, J + 1>(run, range);
  }
}

template <int KW, int Stride, int KV>
void scatter_weight(const WeightRow& run) {
  const Interval range = scatter_steps<KW, Stride>(run.checked_width, run.dense_width, run.padding);
  const auto edges = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u)
      weight_edge_of<KV, 1, 1, KW>(run, u, scatter_taps<KW, Stride>(u, run.dense_width, run.padding));
  };
  edges(0, least(run.checked_width, range.begin));
  if (range.begin < range.end) {
    V acc[KW][KV];
    load_sums<KV, 1, KW>(acc, run.dw);
    MaskAhead ahead(run.checked + range.begin * kLanes, run.checked + (run.checked_width - 1) * kLanes);
    for (std::int64_t u = range.begin; u < range.end; ++u) {
      const float* values = run.checked + u * kLanes;
      add_images<KV, 1, KW>(acc, ahead.take(values), values,
                            run.dense + (u * Stride - run.padding) * (kLanes * KV * kLanes));
    }
    store_sums<KV, 1, KW>(acc, run.dw);
  }
  edges(range.end, run.checked_width);
}

template <int KV>
void pixel_weight(const WeightRow& run) {
  V acc[1][KV];
  load_sums<KV, 1, 1>(acc, run.dw);
  const float* values = run.checked;
  const float* dense = run.dense;
  std::uint32_t next = nonzero(values);
  for (std::int64_t left = run.checked_width; left > 0; --left) {
    const std::uint32_t mask = next;
    next = nonzero(left > 1 ? values + run.checked_step * kLanes : values);
    add_images<KV, 1, 1>(acc, mask, values, dense);
    values += run.checked_step * kLanes;
    dense += run.dense_step * (kLanes * KV * kLanes);
  }
  store_sums<KV, 1, 1>(acc, run.dw);
}

}  // namespace

constinit const RowKernels kAvx512RowKernels = {
    .sweep = {{pixel_sweep<1>, pixel_sweep<2>, pixel_sweep<4>, pixel_sweep<8>},
              {gather_sweep<3, 1, 1>, gather_sweep<3, 1, 2>, gather_sweep<3, 1, 4>, gather_sweep<3, 1, 8>},
              {gather_sweep<3, 2, 1>, gather_sweep<3, 2, 2>, gather_sweep<3, 2, 4>, gather_sweep<3, 2, 8>},
              {scatter_sweep<3, 2, 1>, scatter_sweep<3, 2, 2>, scatter_sweep<3, 2, 4>,
               scatter_sweep<3, 2, 8>},
              {gather_sweep<5, 1, 1>, gather_sweep<5, 1, 2>, gather_sweep<5, 1, 4>, nullptr}},
    .weight =
        {{pixel_weight<1>, pixel_weight<2>, pixel_weight<4>, pixel_weight<8>},
         {gather_weight<3, 1, 1>, gather_weight<3, 1, 2>, gather_weight<3, 1, 4>, gather_weight<3, 1, 8>},
         {gather_weight<3, 2, 1>, gather_weight<3, 2, 2>, gather_weight<3, 2, 4>, gather_weight<3, 2, 8>},
         {scatter_weight<3, 2, 1>, scatter_weight<3, 2, 2>, scatter_weight<3, 2, 4>, scatter_weight<3, 2, 8>},
         {gather_weight<5, 1, 1>, gather_weight<5, 1, 2>, gather_weight<5, 1, 4>, nullptr}},
};

}  // namespace lacuna::kernels::sparsetrain
