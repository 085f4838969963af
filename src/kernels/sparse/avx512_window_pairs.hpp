// The window kernel for inputs with few zeros: two neighbouring pixels at a time. Included by avx512.cpp
// after avx512_window.hpp.
//
// A core with two multiply-adds per cycle reads weights from L1 too slowly for them: on Zen 5 one with a
// memory operand takes 0.72 cycles in a loop of nothing else, one on registers 0.50. Channels that are
// non-zero in both pixels load each weight once for two multiply-adds (0.52 cycles), the other channels
// follow as in window_kernel. Values are packed as for window_kernel; how many of a pixel come before a
// channel is counted from its mask, on ports that are idle.

// TapBits of pixels inside a row, of its first and of its last one.
constexpr int kAllTaps = 7, kFirstTaps = 3, kLastTaps = 6;

// Six columns: a pair reaches four, and two are loaded ahead.
template <int RowBits>
struct PairSweep : WindowSums<RowBits, 6> {
  const WindowRow& run;
  const float* values;

  explicit PairSweep(const WindowRow& row) : run(row), values(row.values) {
    for (int r = 0; r < 3; ++r) this->out[r] = row.out[r];
    this->step = row.out_step;
  }

  static std::int64_t before(std::uint64_t mask, std::uint64_t channel) {
    return __builtin_popcountll(_bzhi_u64(mask, static_cast<unsigned>(channel)));
  }

  // The non-zeros of `mask`, which are some of those of `all`, in a pixel at column `Slot`.
  template <int Slot, int TapBits>
  LACUNA_INLINE void add_some(std::uint64_t mask, std::uint64_t all, const float* of) {
    this->template add<Slot, TapBits>(mask, run.weights, [&](std::uint64_t channel) LACUNA_LAMBDA_INLINE {
      return of + before(all, channel);
    });
  }

  // The pixels at columns `Slot` and `Slot` + 1.
  template <int Slot, int LeftTaps, int RightTaps>
  LACUNA_INLINE void add_pair(std::int64_t w) {
    const std::uint64_t left = run.masks[w], right = run.masks[w + 1];
    const float* const right_values = values + __builtin_popcountll(left);
    for (std::uint64_t both = left & right; both != 0; both &= both - 1) {
      const auto channel = static_cast<std::uint64_t>(__builtin_ctzll(both));
      const float* wt = run.weights + channel * (9 * kLanes);
      LACUNA_PIN(wt);
      const __m512 a = broadcast16(values + before(left, channel));
      const __m512 b = broadcast16(right_values + before(right, channel));
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r)
        if ((RowBits >> r) & 1) {
#pragma GCC unroll 3
          for (int s = 0; s < 3; ++s) {
            constexpr int kBase = Slot + 7;
            __m512 weight = _mm512_load_ps(wt + (r * 3 + s) * kLanes);
            LACUNA_PIN_VECTOR(weight);
            __m512& of_left = this->acc[(kBase - s) % 6][r];
            if ((LeftTaps >> s) & 1) of_left = _mm512_fmadd_ps(a, weight, of_left);
            __m512& of_right = this->acc[(kBase + 1 - s) % 6][r];
            if ((RightTaps >> s) & 1) of_right = _mm512_fmadd_ps(b, weight, of_right);
          }
        }
    }
    add_some<Slot, LeftTaps>(left & ~right, left, values);
    add_some<Slot + 1, RightTaps>(right & ~left, right, right_values);
    values = right_values + __builtin_popcountll(right);
  }

  template <int Slot>
  LACUNA_INLINE void pair(std::int64_t w) {
    this->template load<Slot + 3>(w + 3);
    this->template load<Slot + 4>(w + 4);
    add_pair<Slot, kAllTaps, kAllTaps>(w);
    this->template store<Slot + 5>(w - 1);
    this->template store<Slot>(w);
  }

  // The last pixels of a row, at most 2 * Pairs + 1; columns up to w + 2 are loaded.
  template <int Slot, int Pairs>
  LACUNA_INLINE void tail(std::int64_t w) {
    const std::int64_t left = run.width - w;
    if (left == 1) {
      add_some<Slot, kLastTaps>(run.masks[w], run.masks[w], values);
    } else if (left == 2) {
      add_pair<Slot, kAllTaps, kLastTaps>(w);
      this->template store<Slot + 1>(w + 1);
    } else if constexpr (Pairs > 1) {
      if (left > 3) this->template load<Slot + 3>(w + 3);
      if (left > 4) this->template load<Slot + 4>(w + 4);
      add_pair<Slot, kAllTaps, kAllTaps>(w);
    }
    this->template store<Slot + 5>(w - 1);
    this->template store<Slot>(w);
    if constexpr (Pairs > 1)
      if (left > 2) tail<(Slot + 2) % 6, Pairs - 1>(w + 2);
  }

  // Rows of at least kLeastWidth.
  LACUNA_INLINE void row() {
    this->template load<0>(0);
    this->template load<1>(1);
    this->template load<2>(2);
    this->template load<3>(3);
    if (run.width > 4) this->template load<4>(4);
    add_pair<0, kFirstTaps, kAllTaps>(0);
    this->template store<0>(0);
    std::int64_t w = 2;
    for (; w + 9 <= run.width; w += 6) {
      pair<2>(w);
      pair<4>(w + 2);
      pair<0>(w + 4);
    }
    tail<2, 4>(w);
  }
};

constexpr std::int64_t kLeastWidth = 4;

template <int RowBits>
__attribute__((noinline)) void window_pair_rows(const WindowRow& run) {
  PairSweep<RowBits>(run).row();
}

void window_pairs(const WindowRow& run) {
  static constexpr WindowKernel kRows[8] = {nullptr,
                                            window_pair_rows<1>,
                                            window_pair_rows<2>,
                                            window_pair_rows<3>,
                                            window_pair_rows<4>,
                                            window_pair_rows<5>,
                                            window_pair_rows<6>,
                                            window_pair_rows<7>};
  const int bits =
      (run.out[0] != nullptr ? 1 : 0) | (run.out[1] != nullptr ? 2 : 0) | (run.out[2] != nullptr ? 4 : 0);
  if (run.width < kLeastWidth)
    window_kernel(run);
  else if (bits != 0)
    kRows[bits](run);
}

// A channel that is non-zero in both of two neighbours saves 3.6 cycles on Zen 5, and a pair of pixels has
// one more loop, whose end is mispredicted. With 6 of 64 such channels (random zeros, 70 %) that takes as
// long as window_kernel, with 4 1 to 2 % longer, with 12 (70 %, where neighbours are alike as in trainings) 7
// % less.
bool pairs_pay(const std::uint64_t* masks, std::int64_t width) {
  constexpr std::int64_t kLeastShared = 8;
  std::int64_t shared = 0;
  for (std::int64_t w = 0; w + 1 < width; w += 2) shared += __builtin_popcountll(masks[w] & masks[w + 1]);
  return shared >= kLeastShared * (width / 2);
}
