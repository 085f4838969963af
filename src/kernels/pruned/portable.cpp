// Plain C++ for any CPU.
#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

struct Simd {
  struct V {
    float lane[kLanes];
  };
  static V load(const float* p) {
    V v;
    for (int i = 0; i < kLanes; ++i) v.lane[i] = p[i];
    return v;
  }
  static void store(float* p, const V& v) {
    for (int i = 0; i < kLanes; ++i) p[i] = v.lane[i];
  }
  static V broadcast(const float* p) {
    V v;
    for (int i = 0; i < kLanes; ++i) v.lane[i] = *p;
    return v;
  }
  static V fma(const V& a, const V& b, const V& c) {
    V v;
    for (int i = 0; i < kLanes; ++i) v.lane[i] = a.lane[i] * b.lane[i] + c.lane[i];
    return v;
  }
  static V zero() { return V{}; }
};

#include "kernels/pruned/few_registers.hpp"

}  // namespace

constinit const PrunedKernels kPortablePruned = {"portable", pruned_rows, kept_rows, pack_lanes,
                                                 unpack_lanes};

}  // namespace lacuna::kernels
