// weight_grad: a row of one checked channel in 16 images. Included by avx512.cpp, inside its unnamed
// namespace.

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
