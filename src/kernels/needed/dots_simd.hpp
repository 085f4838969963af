// The products of needed_loops.hpp for any instruction set. Included inside the unnamed namespace of one file
// per instruction set. Needs a type `Simd` with V, load, fma and zero, and sum4(V, V, V, V, float*), which
// adds the sums of four vectors to four floats.

// Count results at once: each vector of weights is loaded once for all of them, and the lanes are summed once
// for all taps. A result's sum is in the same order whichever group it is in.
template <int Count>
inline void dot_group(const NeededDots& d, const std::uint16_t* slots, float* sums) {
  const float* from[Count];
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) from[i] = d.tile + slots[i] * d.slot_floats;
  Simd::V sum[Count];
#pragma GCC unroll 8
  for (int i = 0; i < Count; ++i) sum[i] = Simd::zero();
  const float* weights = d.weights;
  for (std::int64_t tap = 0; tap < d.tap_count; ++tap) {
    const std::ptrdiff_t end = d.taps[tap] + d.slot_floats;
    for (std::ptrdiff_t at = d.taps[tap]; at < end; at += kLanes, weights += kLanes) {
      const Simd::V w = Simd::load(weights);
#pragma GCC unroll 8
      for (int i = 0; i < Count; ++i) sum[i] = Simd::fma(w, Simd::load(from[i] + at), sum[i]);
    }
  }
#pragma GCC unroll 2
  for (int i = 0; i < Count; i += 4) {
    for (int j = i; j < i + 4; ++j) sums[j] = 0;
    sum4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3], sums + i);
  }
}
