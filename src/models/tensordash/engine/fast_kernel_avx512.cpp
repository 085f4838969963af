// The paper's scheduler for groups of four rows, eight groups per vector.
//
// One step of a group is a 64-bit word: four rows of 16 lanes. A level of the scheduler is a handful of ANDs
// and 16-bit rotations for all lanes, rows and groups of a vector at once. Measured on one core of a Zen 4 at
// 60 % zeros: docs/results/tensordash-speed.md.
#include "models/tensordash/engine/avx512_kernels.hpp"

#if defined(__AVX512VBMI2__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace lacuna::tensordash {
namespace {

using Vector = __m512i;

template <int kCount>
[[gnu::always_inline]] inline Vector rotate_left(Vector x) {  // within 16-bit elements
  if constexpr ((kCount & 15) == 0) {
    return x;
  } else {
    return _mm512_shldi_epi16(x, x, kCount & 15);
  }
}

// Lanes in `free` take the value `kOffset` lanes away where there is one.
template <int kOffset>
[[gnu::always_inline]] inline void move(Vector& values, Vector& free) {
  const Vector reachable = rotate_left<-kOffset>(values);
  const Vector reached = rotate_left<kOffset>(free);
  free = _mm512_andnot_si512(reachable, free);
  values = _mm512_andnot_si512(reached, values);
}

// Levels of the paper's connectivity, of either depth: lanes l, l+5, l+10; then lane 15.
constexpr std::uint16_t kLevels[6] = {0x0421, 0x0842, 0x1084, 0x2108, 0x4210, 0x8000};

// The window of one vector of groups. After schedule() the first step is always empty: its own lanes see it
// first.
template <int kDepth>
struct Window {
  Vector e0, e1, e2;

  [[gnu::always_inline]] inline void level(int l) {
    Vector free = _mm512_andnot_si512(e0, _mm512_set1_epi16(static_cast<short>(kLevels[l])));
    move<0>(e1, free);
    if constexpr (kDepth == 3) move<0>(e2, free);
    move<-1>(e1, free);
    move<1>(e1, free);
    if constexpr (kDepth == 3) {
      move<-2>(e2, free);
      move<2>(e2, free);
    }
    move<-3>(e1, free);
  }
};

// Eight groups that advance independently. A group that ends makes room for the next of the block.
template <int kDepth>
class Lane8 {
 public:
  void start(const PackedGroups& groups, std::uint32_t* cycles, std::int64_t& next) {
    groups_ = &groups;
    cycles_ = cycles;
    for (int lane = 0; lane < 8; ++lane) take(lane, 0, next);
    reload();
    window_.e0 = fresh0_;
    window_.e1 = fresh1_;
    window_.e2 = fresh2_;
  }
  bool alive() const { return active_ != 0; }
  Window<kDepth>& window() { return window_; }

  // Slides every group by what it drained, refills the window, and replaces groups that have ended.
  [[gnu::always_inline]] inline void advance(std::uint32_t now, std::int64_t& next) {
    const Vector r1 = window_.e1;
    const Vector r2 = window_.e2;
    const __mmask8 empty1 = _mm512_testn_epi64_mask(r1, r1);
    __mmask8 empty2 = 0;
    const Vector word = _mm512_set1_epi64(8);
    Vector at = _mm512_load_si512(at_);
    at = _mm512_mask_add_epi64(at, active_, at, word);
    at = _mm512_mask_add_epi64(at, active_ & empty1, at, word);
    if constexpr (kDepth == 3) {
      empty2 = empty1 & _mm512_testn_epi64_mask(r2, r2);
      at = _mm512_mask_add_epi64(at, active_ & empty2, at, word);
    }
    _mm512_store_si512(at_, at);
    const __mmask8 ended = active_ & _mm512_cmpge_epi64_mask(at, _mm512_load_si512(end_));
    __mmask8 restarted = 0;
    if (ended != 0) [[unlikely]] {
      for (unsigned left = ended; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        cycles_[group_[lane]] = now - started_[lane];
        take(lane, now, next);
      }
      restarted = ended;
    }
    reload();
    // Slid by one: r1 is the new first step and r2 the second; by two: r2 is the first; else all is fresh.
    const auto by_one = static_cast<__mmask8>(~empty1 & ~restarted);
    if constexpr (kDepth == 3) {
      const auto by_two = static_cast<__mmask8>(empty1 & ~empty2 & ~restarted);
      window_.e0 = _mm512_mask_mov_epi64(_mm512_mask_mov_epi64(fresh0_, by_two, r2), by_one, r1);
      window_.e1 = _mm512_mask_mov_epi64(fresh1_, by_one, r2);
      window_.e2 = fresh2_;
    } else {
      window_.e0 = _mm512_mask_mov_epi64(fresh0_, by_one, r1);
      window_.e1 = fresh1_;
    }
  }

 private:
  // Gives a lane the next group, or parks it on a stream it no longer moves along.
  void take(int lane, std::uint32_t now, std::int64_t& next) {
    if (next >= groups_->groups) {
      active_ = static_cast<__mmask8>(active_ & ~(1U << lane));
      at_[lane] = reinterpret_cast<std::int64_t>(groups_->words);
      end_[lane] = INT64_MAX;
      return;
    }
    at_[lane] = reinterpret_cast<std::int64_t>(groups_->words + next * groups_->pitch);
    end_[lane] = at_[lane] + 8 * groups_->steps;
    group_[lane] = next++;
    started_[lane] = now;
    active_ = static_cast<__mmask8>(active_ | (1U << lane));
  }

  // Three consecutive words of each of the eight streams, one stream per 64-bit lane. Eight 32-byte loads and
  // seven shuffles; three gathers took 2.4 times as long on Zen 4. The lane order 0 1 4 5 2 3 6 7 is what the
  // shuffles give for free.
  [[gnu::always_inline]] inline void reload() {
    const auto load = [&](int lane) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are added to as a vector of integers
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at_[lane]));
    };
    const auto join = [&](int low, int high) {
      return _mm512_inserti64x4(_mm512_castsi256_si512(load(low)), load(high), 1);
    };
    const Vector a = join(0, 2);
    const Vector b = join(1, 3);
    const Vector c = join(4, 6);
    const Vector d = join(5, 7);
    const Vector even_ab = _mm512_unpacklo_epi64(a, b);
    const Vector even_cd = _mm512_unpacklo_epi64(c, d);
    const Vector odd_ab = _mm512_unpackhi_epi64(a, b);
    const Vector odd_cd = _mm512_unpackhi_epi64(c, d);
    fresh0_ = _mm512_shuffle_i64x2(even_ab, even_cd, 0x88);
    fresh1_ = _mm512_shuffle_i64x2(odd_ab, odd_cd, 0x88);
    if constexpr (kDepth == 3) fresh2_ = _mm512_shuffle_i64x2(even_ab, even_cd, 0xdd);
  }

  const PackedGroups* groups_ = nullptr;
  std::uint32_t* cycles_ = nullptr;
  Window<kDepth> window_;
  Vector fresh0_, fresh1_, fresh2_;
  alignas(64) std::int64_t at_[8];   // addresses of the windows
  alignas(64) std::int64_t end_[8];  // addresses past the last steps
  std::int64_t group_[8];
  std::uint32_t started_[8];
  __mmask8 active_ = 0;
};

template <int kDepth>
void run(const PackedGroups& groups, std::uint32_t* cycles) {
  // Two vectors in flight hide the latency of a level's chain (one: 60 % of the speed; three: registers
  // spill).
  std::int64_t next = 0;
  Lane8<kDepth> first;
  Lane8<kDepth> second;
  first.start(groups, cycles, next);
  second.start(groups, cycles, next);
  for (std::uint32_t now = 1; first.alive() || second.alive(); ++now) {
    Window<kDepth> a = first.window();
    Window<kDepth> b = second.window();
#pragma GCC unroll 6
    for (int l = 0; l < 6; ++l) {
      a.level(l);
      b.level(l);
    }
    first.window() = a;
    second.window() = b;
    first.advance(now, next);
    second.advance(now, next);
  }
}

}  // namespace

constinit const LockstepGroups kLockstepDepth2Avx512 = run<2>;
constinit const LockstepGroups kLockstepDepth3Avx512 = run<3>;

}  // namespace lacuna::tensordash

#else

namespace lacuna::tensordash {
constinit const LockstepGroups kLockstepDepth2Avx512 = nullptr;
constinit const LockstepGroups kLockstepDepth3Avx512 = nullptr;
}  // namespace lacuna::tensordash

#endif
