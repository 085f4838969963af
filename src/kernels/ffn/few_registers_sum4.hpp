// Sums of the lanes of vectors in registers of kWidth floats (simd.hpp). Included inside unnamed namespaces.

inline void sum4(const Simd::V& a, const Simd::V& b, const Simd::V& c, const Simd::V& d, float* sums) {
  const Simd::V* const all[] = {&a, &b, &c, &d};
  for (int i = 0; i < 4; ++i) {
    auto lanes = all[i]->part[0];
    for (int part = 1; part < Simd::kRegisters; ++part) lanes += all[i]->part[part];
    float total = 0;
    for (int lane = 0; lane < kWidth; ++lane) total += lanes[lane];
    sums[i] += total;
  }
}
