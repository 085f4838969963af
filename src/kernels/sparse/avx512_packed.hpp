// Runs of pixels whose non-zeros were packed before. Included by avx512.cpp, inside its unnamed namespace.

template <int Blocks>
LACUNA_INLINE std::uint32_t pack_pixels(const PixelRow& row, std::uint32_t first, std::uint32_t* offsets,
                                        std::uint64_t* masks, float* values) {
  const __m512 zero = _mm512_setzero_ps();
  const float* src = row.src;
  std::size_t at = first;
  for (std::int64_t w = 0; w < row.width; ++w, src += row.src_step) {
    if (offsets != nullptr) offsets[w] = static_cast<std::uint32_t>(at);
    std::uint64_t mask = 0;
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) {
      const __m512 x = _mm512_loadu_ps(src + b * row.src_block);
      const __mmask16 k = _mm512_cmp_ps_mask(x, zero, _CMP_NEQ_UQ);
      // Compressed in a register and then stored: compressing into memory is microcode on Zen 4.
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

template <int KV>
void packed_kernel(const PackedRun& run) {
  const std::uint64_t* masks = run.masks;
  const std::uint32_t* offsets = run.offsets;
  float* dst = run.dst;
  const auto fetch = [&](Accumulators<KV>& sums, std::ptrdiff_t ahead) LACUNA_LAMBDA_INLINE {
    if (run.init != nullptr)
      load_accumulators<KV>(sums, run.init, kLanes);
    else
      load_accumulators<KV>(sums, dst + ahead * run.dst_step, run.dst_block);
  };
  const auto add = [&](Accumulators<KV>& sums) LACUNA_LAMBDA_INLINE {
    std::uint64_t mask = *masks;
    const float* values = run.values + *offsets;
    while (mask != 0) {
      const float* wi = run.weights + static_cast<std::size_t>(__builtin_ctzll(mask)) * (KV * kLanes);
      mask &= mask - 1;
      LACUNA_PIN(wi);
      const __m512 x = broadcast16(values++);
#pragma GCC unroll 16
      for (int k = 0; k < KV; ++k)
        sums.v[k] = _mm512_fmadd_ps(x, _mm512_loadu_ps(wi + k * kLanes), sums.v[k]);
    }
    store_accumulators<KV>(sums, dst, run.dst_block);
    dst += run.dst_step;
    masks += run.step;
    offsets += run.step;
  };
  in_pipeline<Accumulators<KV>>(run.count, fetch, add);
}
