// Max pools. Included after block.hpp.

// The part of a window that lies inside the image, along one axis.
struct Inside {
  std::int64_t first, last;  // positions of the window, last excluded
  std::int64_t start;        // the pixel at position 0; may be outside
};

LACUNA_INLINE Inside inside(std::int64_t out, std::int64_t stride, std::int64_t padding, std::int64_t kernel,
                            std::int64_t size) {
  const std::int64_t start = out * stride - padding;
  return {larger(0, -start), smaller(kernel, size - start), start};
}

LACUNA_INLINE void pool_window(const MaxPoolPass& pool, const Inside& ys, const Inside& xs, const float* in,
                               float* out, std::uint8_t* at) {
  Vector best[kVectors];
  Mask position[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    best[v] = Vector{} - __builtin_inff();
    position[v] = Mask{} + static_cast<int>(ys.first * pool.kernel_w + xs.first);
  }
  for (std::int64_t y = ys.first; y < ys.last; ++y)
    for (std::int64_t x = xs.first; x < xs.last; ++x) {
      const float* from = in + ((ys.start + y) * pool.width + xs.start + x) * kBlock;
      const int number = static_cast<int>(y * pool.kernel_w + x);
      for (int v = 0; v < kVectors; ++v) {
        const Vector value = load(from + v * kWidth);
        // A NaN is the maximum: nothing is above it.
        const Mask above = (value > best[v]) | (value != value);
        best[v] = above ? value : best[v];
        position[v] = above ? Mask{} + number : position[v];
      }
    }
  for (int v = 0; v < kVectors; ++v) {
    if (pool.positive) position[v] |= (best[v] <= Vector{}) & MaxPoolPass::kNowhere;
    store(out + v * kWidth, best[v]);
    const Bytes bytes = __builtin_convertvector(position[v], Bytes);
    __builtin_memcpy(at + v * kWidth, &bytes, sizeof bytes);
  }
}

void max_pool(const MaxPoolPass& pool, const float* in, float* out, std::uint8_t* at) {
  for (std::int64_t oy = 0; oy < pool.out_height; ++oy) {
    const Inside ys = inside(oy, pool.stride_h, pool.padding_h, pool.kernel_h, pool.height);
    for (std::int64_t ox = 0; ox < pool.out_width; ++ox) {
      const std::int64_t to = (oy * pool.out_width + ox) * kBlock;
      if (pool.kernel_h == 2 && pool.kernel_w == 2 && pool.padding_h == 0 && pool.padding_w == 0 &&
          ys.last == 2 && ox * pool.stride_w + 2 <= pool.width)
        pool_window(pool, {0, 2, ys.start}, {0, 2, ox * pool.stride_w}, in, out + to, at + to);  // unrolled
      else
        pool_window(pool, ys, inside(ox, pool.stride_w, pool.padding_w, pool.kernel_w, pool.width), in,
                    out + to, at + to);
    }
  }
}

template <bool kAdd>
LACUNA_INLINE void spread_window(const MaxPoolPass& pool, const Inside& ys, const Inside& xs,
                                 const float* gradient, const std::uint8_t* at, float* diff_in) {
  for (int v = 0; v < kVectors; ++v) {
    Bytes bytes;
    __builtin_memcpy(&bytes, at + v * kWidth, sizeof bytes);
    const Mask position = __builtin_convertvector(bytes, Mask);
    const Vector g = load(gradient + v * kWidth);
    for (std::int64_t y = ys.first; y < ys.last; ++y)
      for (std::int64_t x = xs.first; x < xs.last; ++x) {
        float* to = diff_in + ((ys.start + y) * pool.width + xs.start + x) * kBlock + v * kWidth;
        const Vector share = where(position == static_cast<int>(y * pool.kernel_w + x), g);
        store(to, kAdd ? load(to) + share : share);
      }
  }
}

void max_pool_gradient(const MaxPoolPass& pool, const float* gradient, const std::uint8_t* at,
                       float* diff_in) {
  // Windows that tile the image write each pixel once.
  const bool tiles = pool.kernel_h == pool.stride_h && pool.kernel_w == pool.stride_w &&
                     pool.padding_h == 0 && pool.padding_w == 0 &&
                     pool.out_height * pool.stride_h == pool.height &&
                     pool.out_width * pool.stride_w == pool.width;
  if (!tiles)
    __builtin_memset(diff_in, 0, static_cast<std::size_t>(pool.height * pool.width * kBlock) * sizeof(float));
  for (std::int64_t oy = 0; oy < pool.out_height; ++oy) {
    const Inside ys = inside(oy, pool.stride_h, pool.padding_h, pool.kernel_h, pool.height);
    for (std::int64_t ox = 0; ox < pool.out_width; ++ox) {
      const std::int64_t from = (oy * pool.out_width + ox) * kBlock;
      if (tiles && pool.kernel_h == 2 && pool.kernel_w == 2)
        spread_window<false>(pool, {0, 2, ys.start}, {0, 2, ox * 2}, gradient + from, at + from, diff_in);
      else if (tiles)
        spread_window<false>(pool, ys, inside(ox, pool.stride_w, 0, pool.kernel_w, pool.width),
                             gradient + from, at + from, diff_in);
      else
        spread_window<true>(pool, ys, inside(ox, pool.stride_w, pool.padding_w, pool.kernel_w, pool.width),
                            gradient + from, at + from, diff_in);
    }
  }
}
