// The loops for one instruction set, included inside the unnamed namespace of its file. Needs a type `Simd`
// with V, kWidth, load, store, broadcast, add, fma, zero and sum. Runs are multiples of 16 floats; four
// vectors at a time.

// f(i, j): the vector at float i of a run, the jth of four.
template <class F>
__attribute__((always_inline)) inline void each_vector(std::int64_t floats, const F& f) {
  constexpr std::int64_t kStep = 4 * Simd::kWidth;
  std::int64_t i = 0;
  for (; i + kStep <= floats; i += kStep) {
    f(i, 0);
    f(i + Simd::kWidth, 1);
    f(i + 2 * Simd::kWidth, 2);
    f(i + 3 * Simd::kWidth, 3);
  }
  for (; i < floats; i += Simd::kWidth) f(i, 0);
}

// f(input, result, floats) for each run of neighbouring floats.
template <class F>
__attribute__((always_inline)) inline void each_run(const Runs& runs, const F& f) {
  for (std::int64_t row = 0; row < runs.rows; ++row) {
    const std::int64_t input = row * runs.input_row;
    const std::int64_t result = row * runs.result_row;
    if (runs.input_pixel == runs.batch) {
      f(input, result, runs.pixels * runs.batch);
    } else {
      for (std::int64_t p = 0; p < runs.pixels; ++p)
        f(input + p * runs.input_pixel, result + p * runs.batch, runs.batch);
    }
  }
}

inline void forward(const Runs& runs, float w, const float* x, float* y) {
  const Simd::V value = Simd::broadcast(w);
  each_run(runs, [&](std::int64_t input, std::int64_t result, std::int64_t floats) {
    each_vector(floats, [&](std::int64_t i, int /*of four*/) {
      float* to = y + result + i;
      Simd::store(to, Simd::fma(value, Simd::load(x + input + i), Simd::load(to)));
    });
  });
}

inline float backward(const Runs& runs, float w, const float* x, const float* dy, float* dx) {
  const Simd::V value = Simd::broadcast(w);
  Simd::V sums[4] = {Simd::zero(), Simd::zero(), Simd::zero(), Simd::zero()};
  each_run(runs, [&](std::int64_t input, std::int64_t result, std::int64_t floats) {
    each_vector(floats, [&](std::int64_t i, int j) {
      const Simd::V gradient = Simd::load(dy + result + i);
      float* to = dx + input + i;
      Simd::store(to, Simd::fma(value, gradient, Simd::load(to)));
      sums[j] = Simd::fma(Simd::load(x + input + i), gradient, sums[j]);
    });
  });
  return Simd::sum(Simd::add(Simd::add(sums[0], sums[1]), Simd::add(sums[2], sums[3])));
}
