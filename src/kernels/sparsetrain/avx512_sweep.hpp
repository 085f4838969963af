// forward and input_grad: a row of 16 checked channels into a row of results. Included by avx512.cpp, inside
// its unnamed namespace.

// The mask of the next column is made before the loop over the bits of this
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

// Columns of results rotate through the accumulators. A step adds the pixels of `kPixels` checked columns to
// a window of `kSlots` columns: it loads the last `kMove` of them and stores the first, which are finished.
// After `kSlots` steps the slots are where they were, so the loop is unrolled that many times. Gather: step t
// has the checked columns t * stride - padding + j, j < stride, and a window that ends at column t. Scatter,
// for strides above 1: the checked column t, and a window that begins at t * stride - padding.
template <int KW, int Stride, int KV, bool Scatter>
struct Sweep {
  static_assert(!Scatter || (KW % Stride != 0 && Stride < KW));
  static constexpr int kSlots = Scatter ? KW : (KW + Stride - 1) / Stride;
  static constexpr int kMove = Scatter ? Stride : 1;
  static constexpr int kPixels = Scatter ? 1 : Stride;

  const SweepRow& run;
  MaskAhead ahead;
  V acc[kSlots][KV] = {};

  static std::int64_t first_step(std::int64_t padding) {
    return Scatter ? (padding - KW + 2 * Stride) / Stride - 1 : 0;
  }
  explicit Sweep(const SweepRow& row)
      : run(row),
        ahead(
            row.src + least(most(0, pixel(first_step(row.padding), row.padding)), row.src_width - 1) * kLanes,
            row.src + (row.src_width - 1) * kLanes) {}

  static std::int64_t pixel(std::int64_t t, std::int64_t padding) {
    return Scatter ? t : t * Stride - padding;
  }
  LACUNA_INLINE std::int64_t window(std::int64_t t) const {
    return Scatter ? t * Stride - run.padding : t - kSlots + 1;
  }
  LACUNA_INLINE bool is_column(std::int64_t column) const { return column >= 0 && column < run.dst_width; }

  template <int Slot, bool Edge>
  LACUNA_INLINE void load(std::int64_t column) {
    if (Edge && !is_column(column)) return;
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) acc[Slot][k] = _mm512_load_ps(run.dst + column * kLanes + k * run.dst_block);
  }
  template <int Slot, bool Edge>
  LACUNA_INLINE void store(std::int64_t column) {
    if (Edge && !is_column(column)) return;
#pragma GCC unroll 8
    for (int k = 0; k < KV; ++k) _mm512_store_ps(run.dst + column * kLanes + k * run.dst_block, acc[Slot][k]);
  }
  template <int Base, int J, bool Edge>
  LACUNA_INLINE void add(std::int64_t u) {
    if (Edge && (u < 0 || u >= run.src_width)) return;
    const float* values = run.src + u * kLanes;
    std::uint32_t mask = ahead.take(values);
    while (mask != 0) {
      const std::size_t i = take_bit(mask);
      const float* wt = run.weights + i * (KW * KV * kLanes);
      LACUNA_PIN(wt);
      const V value = _mm512_set1_ps(values[i]);
#pragma GCC unroll 8
      for (int s = J; s < KW; s += kPixels)
#pragma GCC unroll 8
        for (int k = 0; k < KV; ++k) {
          V& sum = acc[(Base + (Scatter ? s : kSlots - 1 - s / Stride)) % kSlots][k];
          sum = _mm512_fmadd_ps(value, _mm512_load_ps(wt + (s * KV + k) * kLanes), sum);
        }
    }
  }
  template <bool Edge, int Step, int... Moved, int... Pixels>
  LACUNA_INLINE void step(std::int64_t t, std::integer_sequence<int, Moved...>,
                          std::integer_sequence<int, Pixels...>) {
    constexpr int kBase = Step * kMove % kSlots, kKept = kSlots - kMove;
    const std::int64_t column = window(t), u = pixel(t, run.padding);
    (load<(kBase + kKept + Moved) % kSlots, Edge>(column + kKept + Moved), ...);
    (add<kBase, Pixels, Edge>(u + Pixels), ...);
    (store<(kBase + Moved) % kSlots, Edge>(column + Moved), ...);
  }
  template <bool Edge, int... Steps>
  LACUNA_INLINE void steps(std::int64_t t, std::integer_sequence<int, Steps...>) {
    (step<Edge, Steps>(t + Steps, std::make_integer_sequence<int, kMove>(),
                       std::make_integer_sequence<int, kPixels>()),
     ...);
  }
  LACUNA_INLINE void sweep() {
    const std::int64_t last = run.dst_width - 1;
    const std::int64_t end = Scatter ? (last + run.padding) / Stride + 1 : last + kSlots;
    for (std::int64_t t = first_step(run.padding); t < end; t += kSlots) {
      const bool inside = window(t) >= 0 && window(t + kSlots - 1) + kSlots - 1 <= last &&
                          pixel(t, run.padding) >= 0 && pixel(t + kSlots, run.padding) <= run.src_width;
      if (inside)
        steps<false>(t, std::make_integer_sequence<int, kSlots>());
      else
        steps<true>(t, std::make_integer_sequence<int, kSlots>());
    }
  }
};

template <int KW, int Stride, int KV>
void gather_sweep(const SweepRow& run) {
  Sweep<KW, Stride, KV, false>(run).sweep();
}
template <int KW, int Stride, int KV>
void scatter_sweep(const SweepRow& run) {
  Sweep<KW, Stride, KV, true>(run).sweep();
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
