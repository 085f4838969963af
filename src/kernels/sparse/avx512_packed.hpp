// Runs of pixels whose non-zeros were packed before. Included by avx512.cpp, inside its unnamed namespace.

template <int Blocks>
LACUNA_INLINE std::uint32_t pack_pixels(const PixelRow& row, std::uint32_t first, std::uint32_t* offsets,
                                        std::uint64_t* masks, float* values) {
  const __m512 zero = _mm512_setzero_ps();
  const float* src = row.src;
  std::size_t at = first;
  for (std::int64_t w = 0; w < row.width; ++w, src += row.src_step) {
    offsets[w] = static_cast<std::uint32_t>(at);
    std::uint64_t mask = 0;
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      const __m512 x = _mm512_loadu_ps(src + b * row.src_block);
      const __mmask16 k = _mm512_cmp_ps_mask(x, zero, _CMP_NEQ_UQ);
      _mm512_storeu_ps(values + at, _mm512_maskz_compress_ps(k, x));
      const std::uint32_t bits = _cvtmask16_u32(k);
      at += static_cast<std::size_t>(__builtin_popcount(bits));
      mask |= static_cast<std::uint64_t>(bits) << (kLanes * b);
    }
    masks[w] = mask;
  }
  return static_cast<std::uint32_t>(at);
}

std::uint32_t pack_row(const PixelRow& row, std::uint32_t first, std::uint32_t* offsets, std::uint64_t* masks,
                       float* values) {
  switch (row.blocks) {
    case 1:
      return pack_pixels<1>(row, first, offsets, masks, values);
    case 2:
      return pack_pixels<2>(row, first, offsets, masks, values);
    case 3:
      return pack_pixels<3>(row, first, offsets, masks, values);
    default:
      return pack_pixels<4>(row, first, offsets, masks, values);
  }
}

// The sums of the next pixel are fetched before the loop of this one, so that its mispredicted end does not
// wait for them.
template <int KV>
struct PackedSweep {
  const PackedRun& run;
  const std::uint64_t* masks = run.masks;
  const std::uint32_t* offsets = run.offsets;
  float* dst = run.dst;

  LACUNA_INLINE void fetch(Accumulators<KV>& acc, const float* from) const {
    if (run.init != nullptr)
      load_accumulators<KV>(acc, run.init, kLanes);
    else
      load_accumulators<KV>(acc, from, run.dst_block);
  }
  LACUNA_INLINE void add(Accumulators<KV>& acc) {
    std::uint64_t mask = *masks;
    const float* values = run.values + *offsets;
    const float* weights = run.weights;
    while (mask != 0) {
      const float* wi = weights + static_cast<std::size_t>(__builtin_ctzll(mask)) * (KV * kLanes);
      mask &= mask - 1;
      LACUNA_PIN(wi);
      const __m512 x = broadcast16(values++);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k) acc.v[k] = _mm512_fmadd_ps(x, _mm512_loadu_ps(wi + k * kLanes), acc.v[k]);
    }
    store_accumulators<KV>(acc, dst, run.dst_block);
    dst += run.dst_step;
    masks += run.step;
    offsets += run.step;
  }
};

template <int KV>
void packed_kernel(const PackedRun& run) {
  PackedSweep<KV> sweep{run};
  Accumulators<KV> even;
  Accumulators<KV> odd;
  sweep.fetch(even, sweep.dst);
  std::int64_t left = run.count;
  for (; left > 2; left -= 2) {
    sweep.fetch(odd, sweep.dst + run.dst_step);
    sweep.add(even);
    sweep.fetch(even, sweep.dst + run.dst_step);
    sweep.add(odd);
  }
  if (left == 2) sweep.fetch(odd, sweep.dst + run.dst_step);
  sweep.add(even);
  if (left == 2) sweep.add(odd);
}
