// Sixteen floats in plain C++. Included by the files compiled for any CPU, inside their unnamed namespaces.

struct PortableVector {
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
