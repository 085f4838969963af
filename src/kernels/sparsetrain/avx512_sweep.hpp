// forward and input_grad: a row of 16 checked channels into a row of results. Included by avx512.cpp, inside
// its unnamed namespace.

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

// One tap: nothing rotates, each pixel has its own sums.
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
