// Included inside the unnamed namespace of the instruction sets without their own transpose.
void transpose_tile(const float* src, const std::ptrdiff_t* pixel_offsets, int count, float* dst,
                    std::ptrdiff_t dst_stride) {
  const int padded = (count + kLanes - 1) / kLanes * kLanes;
  for (int p = 0; p < padded; ++p)
    for (int c = 0; c < kLanes; ++c) dst[c * dst_stride + p] = p < count ? src[pixel_offsets[p] + c] : 0.0F;
}
