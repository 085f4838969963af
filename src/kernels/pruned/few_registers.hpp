// The loops for instruction sets with few registers: four vectors of a tile at a time. Included by one file
// for each, which defines the width of its registers and the name of its table.
#include "kernels/pruned/kernels.hpp"

namespace lacuna::kernels {
namespace {

constexpr int kWidth = LACUNA_WIDTH;  // floats in a register
#include "kernels/sparse/simd.hpp"

template <int N>
void row_part(const PrunedRows& job, const WeightEntry* begin, const WeightEntry* end, std::int64_t at,
              float* sums, const float* init) {
  Simd::V acc[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i)
    acc[i] = init != nullptr ? Simd::broadcast(init) : Simd::load(sums + i * kLanes);
  for (const WeightEntry* e = begin; e != end; ++e) {
    const float* x = job.inputs + e->offset / sizeof(float) + at * kLanes;
    const Simd::V w = Simd::broadcast(&e->value);
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) acc[i] = Simd::fma(w, Simd::load(x + i * kLanes), acc[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) Simd::store(sums + i * kLanes, acc[i]);
}

// A tile of one column whose slots follow one another is one row.
inline TileSize as_rows(const TileSize& tile) {
  return tile.cols == 1 && tile.pitch == 1 ? TileSize{1, tile.rows, 1} : tile;
}

inline void pruned_rows(const PrunedRows& job) {
  const TileSize tile = as_rows(job.tile);
  const WeightEntry* e = job.entries;
  for (std::int64_t r = 0; r < job.row_count; ++r) {
    const WeightRow row = job.rows[r];
    float* sums = job.sums + static_cast<std::int64_t>(row.channel) * tile.rows * tile.cols * kLanes;
    const float* init = job.init != nullptr ? job.init + row.channel : nullptr;
    for (int y = 0; y < tile.rows; ++y)
      for (int x = 0; x < tile.cols; x += 4) {
        const std::int64_t at = static_cast<std::int64_t>(y) * tile.pitch + x;
        float* to = sums + (y * tile.cols + x) * kLanes;
        const int n = tile.cols - x < 4 ? tile.cols - x : 4;
        if (n == 4) row_part<4>(job, e, e + row.count, at, to, init);
        if (n == 3) row_part<3>(job, e, e + row.count, at, to, init);
        if (n == 2) row_part<2>(job, e, e + row.count, at, to, init);
        if (n == 1) row_part<1>(job, e, e + row.count, at, to, init);
      }
    e += row.count;
  }
}

inline void kept_rows(const KeptRows& job) {
  const TileSize tile = as_rows(job.tile);
  const WeightEntry* e = job.entries;
  float* out = job.out;
  for (std::int64_t r = 0; r < job.row_count; ++r) {
    const WeightRow row = job.rows[r];
    const float* g = job.gradients + static_cast<std::int64_t>(row.channel) * tile.rows * tile.cols * kLanes;
    for (std::int64_t i = 0; i < row.count; ++i, ++e, ++out) {
      const float* inputs = job.inputs + e->offset / sizeof(float);
      Simd::V sum = Simd::zero();
      for (int y = 0; y < tile.rows; ++y)
        for (int x = 0; x < tile.cols; ++x)
          sum = Simd::fma(Simd::load(g + (y * tile.cols + x) * kLanes),
                          Simd::load(inputs + (static_cast<std::int64_t>(y) * tile.pitch + x) * kLanes), sum);
      alignas(64) float lanes[kLanes];
      Simd::store(lanes, sum);
      float total = 0;
      for (const float lane : lanes) total += lane;
      *out += total;
    }
  }
}

inline void pack_lanes(const PackLanes& job) {
  for (std::int64_t i = 0; i < job.count; ++i)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t offset = job.offsets[i * kLanes + lane];
      float* to = job.to + job.slots[i] * kLanes + lane;
      for (int c = 0; c < kLanes; ++c) to[c * job.channel_floats] = offset < 0 ? 0.0F : job.from[offset + c];
    }
}

inline void unpack_lanes(const UnpackLanes& job) {
  for (std::int64_t p = job.begin; p < job.end; ++p)
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t offset = job.offsets[p * kLanes + lane];
      if (offset < 0) continue;
      for (int c = 0; c < kLanes; ++c) {
        const float value =
            job.from == nullptr ? job.value[c] : job.from[(c * job.pixels + p) * kLanes + lane];
        job.to[offset + c] = job.relu && value < 0.0F ? 0.0F : value;  // NaN stays NaN
      }
    }
}

inline std::int64_t nonzeros(const float* from, std::int64_t count, std::uint32_t* places) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    places[found] = static_cast<std::uint32_t>(i);
    found += from[i] != 0.0F ? 1 : 0;
  }
  return found;
}

}  // namespace

constinit const PrunedKernels LACUNA_TABLE = {LACUNA_ISA, pruned_rows,  kept_rows,
                                              pack_lanes, unpack_lanes, nonzeros};

}  // namespace lacuna::kernels
