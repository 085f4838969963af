// The loops of tile_loops.hpp for any instruction set. Included inside the unnamed namespace of one file per
// instruction set. Needs a type `Simd` with V, load, store, broadcast, fma, add and zero, and
// sum4(V, V, V, V, float*), which adds the sums of four vectors to four floats.

inline constexpr int kVectors = kPanelColumns / kLanes;

// Per quad of AVX-512: 24 loads and 4 stores for 16 multiply-adds, all in L1 but the sums. Two chains of two
// hide the latency where quads of one row follow one another.
inline void gather_tile_sums(const TileQuads& quads, const float* panel, float* sums) {
  const float* value = quads.values;
  const std::uint16_t* offset = quads.offsets;
  for (std::int64_t q = 0; q < quads.count; ++q, value += kQuad, offset += kQuad) {
    const float* p0 = panel + offset[0];
    const float* p1 = panel + offset[1];
    const float* p2 = panel + offset[2];
    const float* p3 = panel + offset[3];
    const Simd::V x0 = Simd::broadcast(value), x1 = Simd::broadcast(value + 1);
    const Simd::V x2 = Simd::broadcast(value + 2), x3 = Simd::broadcast(value + 3);
    float* to = sums + quads.rows[q];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int at = v * kLanes;
      const Simd::V one =
          Simd::fma(x1, Simd::load(p1 + at), Simd::fma(x0, Simd::load(p0 + at), Simd::load(to + at)));
      const Simd::V two =
          Simd::fma(x3, Simd::load(p3 + at), Simd::fma(x2, Simd::load(p2 + at), Simd::zero()));
      Simd::store(to + at, Simd::add(one, two));
    }
  }
}

inline void tile_dots(const TileQuads& quads, const float* panel, const float* rows, float* sums) {
  const std::uint16_t* offset = quads.offsets;
  for (std::int64_t q = 0; q < quads.count; ++q, offset += kQuad, sums += kQuad) {
    const float* p0 = panel + offset[0];
    const float* p1 = panel + offset[1];
    const float* p2 = panel + offset[2];
    const float* p3 = panel + offset[3];
    const float* row = rows + quads.rows[q];
    Simd::V a0 = Simd::zero(), a1 = Simd::zero(), a2 = Simd::zero(), a3 = Simd::zero();
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int at = v * kLanes;
      const Simd::V x = Simd::load(row + at);
      a0 = Simd::fma(x, Simd::load(p0 + at), a0);
      a1 = Simd::fma(x, Simd::load(p1 + at), a1);
      a2 = Simd::fma(x, Simd::load(p2 + at), a2);
      a3 = Simd::fma(x, Simd::load(p3 + at), a3);
    }
    sum4(a0, a1, a2, a3, sums);
  }
}
