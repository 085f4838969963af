// 3x3, stride 1, padding 1, forward and input_grad: one input row slides over three output rows of 16
// channels. Included by avx512.cpp, inside its unnamed namespace.
//
// Twelve sums: three rows by four columns. Column w+2 is loaded while w-1 is finished, one step ahead of its
// use. Each non-zero costs one broadcast and nine multiply-adds with a memory operand, and each pixel three
// loads and three stores of sums. The blocking of [SparseTrain] (one kernel row at a time, 24 multiply-adds
// per non-zero of 16 channels) needs as many sums but ends its loop three times as often: 1.49 / 2.23 / 4.22x
// of oneDNN direct at 50 / 70 / 90 % zeros where this one gives 1.63 / 2.65 / 7.10 (256->256 56x56).

// Sums of three rows by some columns, which are in the registers by their number modulo `Columns`.
template <int RowBits, int Columns>
struct WindowSums {
  __m512 acc[Columns][3];
  float* out[3];
  std::ptrdiff_t step;  // floats from a column to the next

  template <int Slot>
  LACUNA_INLINE void load(std::int64_t w) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r)
      if ((RowBits >> r) & 1) acc[Slot % Columns][r] = _mm512_loadu_ps(out[r] + w * step);
  }
  template <int Slot>
  LACUNA_INLINE void store(std::int64_t w) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r)
      if ((RowBits >> r) & 1) _mm512_storeu_ps(out[r] + w * step, acc[Slot % Columns][r]);
  }

  // Adds the non-zeros of a pixel; place(channel) is where the value of the next one is. TapBits: kernel
  // columns that stay inside the row. Column s of the kernel reaches output column w + 1 - s.
  template <int Slot, int TapBits, class Place>
  LACUNA_INLINE void add(std::uint64_t mask, const float* weights, const Place& place) {
    while (mask != 0) {
      const auto channel = static_cast<std::uint64_t>(__builtin_ctzll(mask));
      const float* wt = weights + channel * (9 * kLanes);
      mask &= mask - 1;
      LACUNA_PIN(wt);
      const __m512 value = broadcast16(place(channel));
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r)
        if ((RowBits >> r) & 1) {
#pragma GCC unroll 3
          for (int s = 0; s < 3; ++s)
            if ((TapBits >> s) & 1) {
              constexpr int kBase = Slot + 1 + Columns;
              __m512& sum = acc[(kBase - s) % Columns][r];
              sum = _mm512_fmadd_ps(value, _mm512_load_ps(wt + (r * 3 + s) * kLanes), sum);
            }
        }
    }
  }
};

template <int RowBits>
struct WindowSweep {
  WindowSums<RowBits, 4> win;
  const std::uint64_t* masks;
  const float* values;
  const float* weights;

  template <int Slot, int TapBits>
  LACUNA_INLINE void add(std::int64_t w) {
    win.template add<Slot, TapBits>(masks[w], weights,
                                    [&](std::uint64_t) LACUNA_LAMBDA_INLINE { return values++; });
  }
  // A pixel with both neighbours; `Slot` is its column modulo 4.
  template <int Slot, bool LoadAhead>
  LACUNA_INLINE void step(std::int64_t w) {
    if constexpr (LoadAhead) win.template load<(Slot + 2) % 4>(w + 2);
    add<Slot, 7>(w);
    win.template store<(Slot + 3) % 4>(w - 1);
  }
  template <int Slot>
  LACUNA_INLINE void last(std::int64_t w) {
    add<Slot, 6>(w);
    win.template store<(Slot + 3) % 4>(w - 1);
    win.template store<Slot>(w);
  }
  // `Left` more pixels that load ahead, one that does not, the last one; the first is at column 1 modulo 4.
  template <int Left>
  LACUNA_INLINE void tail(std::int64_t w) {
    if constexpr (Left > 0) step<1, true>(w);
    if constexpr (Left > 1) step<2, true>(w + 1);
    if constexpr (Left > 2) step<3, true>(w + 2);
    step<(1 + Left) % 4, false>(w + Left);
    last<(2 + Left) % 4>(w + Left + 1);
  }

  LACUNA_INLINE void row(std::int64_t width) {
    win.template load<0>(0);
    if (width == 1) {
      add<0, 2>(0);
      win.template store<0>(0);
      return;
    }
    win.template load<1>(1);
    if (width == 2) {
      add<0, 3>(0);
      last<1>(1);
      return;
    }
    win.template load<2>(2);
    add<0, 3>(0);
    std::int64_t w = 1;
    for (; w + 6 <= width; w += 4) {
      step<1, true>(w);
      step<2, true>(w + 1);
      step<3, true>(w + 2);
      step<0, true>(w + 3);
    }
    switch (width - 2 - w) {
      case 0:
        tail<0>(w);
        break;
      case 1:
        tail<1>(w);
        break;
      case 2:
        tail<2>(w);
        break;
      default:
        tail<3>(w);
        break;
    }
  }
};

template <int RowBits>
__attribute__((noinline)) void window_rows(const WindowRow& run) {
  WindowSweep<RowBits> sweep;
  for (int r = 0; r < 3; ++r) sweep.win.out[r] = run.out[r];
  sweep.win.step = run.out_step;
  sweep.masks = run.masks;
  sweep.values = run.values;
  sweep.weights = run.weights;
  sweep.row(run.width);
}

void window_kernel(const WindowRow& run) {
  static constexpr WindowKernel kRows[8] = {nullptr,        window_rows<1>, window_rows<2>, window_rows<3>,
                                            window_rows<4>, window_rows<5>, window_rows<6>, window_rows<7>};
  const int bits =
      (run.out[0] != nullptr ? 1 : 0) | (run.out[1] != nullptr ? 2 : 0) | (run.out[2] != nullptr ? 4 : 0);
  if (bits != 0) kRows[bits](run);
}
