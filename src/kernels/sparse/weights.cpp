#include "kernels/sparse/weights.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lacuna::kernels {

namespace {

constexpr std::int64_t kPackedChannels = 64;  // that one thread packs at a time

}  // namespace

std::vector<Part> split_blocks(std::int64_t blocks, std::int64_t most) {
  const std::int64_t parts = (blocks + most - 1) / most;
  std::vector<Part> result;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t count = blocks / parts + (i < blocks % parts ? 1 : 0);
    result.push_back({first, count});
    first += count;
  }
  return result;
}

WeightOrder::WeightOrder(const LayerShape& shape, bool checked_is_input, bool ohwi, const Layout& layout,
                         std::vector<Part> parts)
    : parts_(std::move(parts)),
      layout_(layout),
      kernel_(shape.kernel),
      groups_(shape.groups),
      taps_(shape.taps()),
      tap_step_(ohwi ? shape.c_per_group() : 1),
      checked_step_(ohwi ? 1 : taps_),
      other_step_(shape.c_per_group() * taps_),
      checked_(shape.c_per_group()),
      other_(shape.k_per_group()) {
  if (!checked_is_input) {
    std::swap(checked_step_, other_step_);
    std::swap(checked_, other_);
  }
  channels_ = (checked_ + kLanes - 1) / kLanes * kLanes;
}

WeightOrder::Steps WeightOrder::steps(const Part& part) const {
  const std::int64_t outs = part.count * kLanes, tap = tap_floats(part), row = kernel_.w * outs;
  if (layout_.taps == Taps::kOutside) return {kLanes * outs, outs, kernel_.w * tap, tap};
  if (layout_.taps == Taps::kRows) return {kLanes * taps_ * outs, row, kLanes * row, outs};
  return {kLanes * taps_ * outs, taps_ * outs, row, outs};
}

void WeightOrder::places(const Steps& by, int channels, std::ptrdiff_t* to) const {
  for (int c = 0; c < channels; ++c, to += taps_)
    for (std::int64_t r = 0; r < kernel_.h; ++r)
      for (std::int64_t s = 0; s < kernel_.w; ++s)
        to[plain_tap(r, s)] = c * by.channel + r * by.row + s * by.tap;
}

// `left`: checked channels from here on. False: not without reading past the end.
bool WeightOrder::pack_taps(const float* src, const float* end, std::int64_t left, const Steps& by,
                            float* to) const {
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  std::ptrdiff_t rows[kLanes], at[kLanes * kLanes];
  alignas(64) float turned[kLanes * kLanes];
  for (int k = 0; k < kLanes; ++k) rows[k] = k * other_step_;
  if (checked_step_ == taps_) {  // rows of outputs, in each of which pairs (channel, tap) follow one another
    const bool in_order = by.channel == taps_ * by.tap && by.row == kernel_.w * by.tap &&
                          !layout_.rows_turned && !layout_.columns_turned;
    const bool more = left >= 2 * kLanes;
    if (!in_order) places(by, kLanes, at);
    for (std::int64_t i = 0; i < taps_; ++i) {
      if (more)  // the next tile: sixteen short runs, pages apart, that the hardware does not see coming
        for (int k = 0; k < kLanes; ++k) __builtin_prefetch(src + rows[k] + (taps_ + i) * kLanes);
      if (in_order) {
        turn(src + i * kLanes, rows, kLanes, to + i * kLanes * by.tap, by.tap);
        continue;
      }
      turn(src + i * kLanes, rows, kLanes, turned, kLanes);
      for (int j = 0; j < kLanes; ++j)
        std::memcpy(to + at[i * kLanes + j], turned + j * kLanes, kLanes * sizeof(float));
    }
    return true;
  }
  // One run of memory per channel, of which the transpose reads past the end.
  if (src + (kLanes - 1) * checked_step_ + (kLanes - 1) * taps_ + kLanes > end) return false;
  for (std::int64_t c = 0; c < kLanes; ++c, src += checked_step_, to += by.channel) {
    // As above.
    constexpr std::int64_t kAhead = 6;
    if (src + kAhead * checked_step_ < end)
      for (std::int64_t i = 0; i <= taps_ * kLanes; i += kLanes)
        __builtin_prefetch(src + kAhead * checked_step_ + i);
    turn(src, rows, kLanes, turned, kLanes);
    for (std::int64_t r = 0; r < kernel_.h;
         ++r)  // in the order of memory: 2.5 times as fast where that is large
      for (std::int64_t s = 0; s < kernel_.w; ++s)
        std::memcpy(to + r * by.row + s * by.tap, turned + plain_tap(r, s) * kLanes, kLanes * sizeof(float));
  }
  return true;
}

void WeightOrder::unpack_taps(const float* from, const Steps& by, float* dst) const {
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  std::ptrdiff_t at[kLanes * kLanes];
  places(by, checked_step_ == taps_ ? kLanes : 1, at);
  if (checked_step_ == taps_) {
    for (std::int64_t i = 0; i < taps_; ++i)
      turn(from, at + i * kLanes, kLanes, dst + i * kLanes, other_step_);
    return;
  }
  alignas(64) float turned[kLanes * kLanes];
  for (std::int64_t c = 0; c < kLanes; ++c, from += by.channel, dst += checked_step_) {
    turn(from, at, static_cast<int>(taps_), turned, kLanes);
    // Whole vectors, each of which overwrites what the one before wrote too much.
    std::int64_t k = 0;
    for (; k * taps_ + kLanes <= kLanes * taps_; ++k)
      std::memcpy(dst + k * taps_, turned + k * kLanes, kLanes * sizeof(float));
    for (; k < kLanes; ++k)
      std::memcpy(dst + k * taps_, turned + k * kLanes, static_cast<std::size_t>(taps_) * sizeof(float));
  }
}

namespace {

void copy_rows(const float* from, std::int64_t step, float* to, std::int64_t to_step) {
  for (int c = 0; c < kLanes; ++c) std::memcpy(to + c * to_step, from + c * step, kLanes * sizeof(float));
}

// Rows of a tile, for the transpose.
struct RowOffsets {
  explicit RowOffsets(std::int64_t step) {
    for (int i = 0; i < kLanes; ++i) at[i] = i * step;
  }
  std::ptrdiff_t at[kLanes];
};

}  // namespace

// Calls all(where in plain weights, where in the piece, ...) for whole tiles of 16 x 16 channels with their
// taps side by side. It returns true if it has moved all taps; otherwise one() is called for each of them,
// with the number of checked and of other channels that exist.
template <typename AllTaps, typename OneTap>
void WeightOrder::each_tile(const WeightPiece& piece, const AllTaps& all, const OneTap& one) const {
  const Steps by = steps(piece.part);
  const std::int64_t group = piece.group * checked_ * other_ * taps_;
  for (std::int64_t c = 0; c < piece.channels; c += kLanes)
    for (std::int64_t k = 0; k < piece.part.count * kLanes; k += kLanes) {
      const std::int64_t channel = piece.channel + c, other = piece.part.first * kLanes + k;
      const std::int64_t plain = group + channel * checked_step_ + other * other_step_;
      const std::int64_t at = c / kLanes * by.block + k;
      // Oihw weights with the taps of a pair of channels side by side, and pairs of inputs one after another.
      if (taps_ <= kLanes && checked_step_ != 1 && other_step_ != 1 && channel + kLanes <= checked_ &&
          other + kLanes <= other_ && all(plain, at, by, checked_ - channel))
        continue;
      const std::int64_t checked = std::clamp<std::int64_t>(checked_ - channel, 0, kLanes);
      const std::int64_t others = std::clamp<std::int64_t>(other_ - other, 0, kLanes);
      for (std::int64_t r = 0; r < kernel_.h; ++r)
        for (std::int64_t s = 0; s < kernel_.w; ++s)
          one(plain + plain_tap(r, s) * tap_step_, at + r * by.row + s * by.tap, checked, others);
    }
}

// Where neighbours in memory differ in one of the two channels (ohwi, and single taps), whole tiles are moved
// by vectors.
void WeightOrder::pack_piece(const float* plain, const WeightPiece& piece, float* to) const {
  const float* end = plain + (piece.group + 1) * checked_ * other_ * taps_;
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  const std::int64_t row = steps(piece.part).channel;
  const RowOffsets rows(other_step_);
  each_tile(
      piece,
      [&](std::int64_t from, std::int64_t at, const Steps& by, std::int64_t left) {
        return pack_taps(plain + from, end, left, by, to + at);
      },
      [&](std::int64_t from, std::int64_t at, std::int64_t checked, std::int64_t others) {
        const float* pairs = plain + from;
        float* tile = to + at;
        const bool whole = checked * others == kLanes * kLanes;
        if (whole && checked_step_ == 1) return turn(pairs, rows.at, kLanes, tile, row);
        if (whole && other_step_ == 1) return copy_rows(pairs, checked_step_, tile, row);
        for (std::int64_t c = 0; c < kLanes; ++c) std::fill_n(tile + c * row, kLanes, 0.0F);
        for (std::int64_t c = 0; c < checked; ++c)
          for (std::int64_t k = 0; k < others; ++k)
            tile[c * row + k] = pairs[c * checked_step_ + k * other_step_];
      });
}

void WeightOrder::unpack_piece(const float* from, const WeightPiece& piece, float* plain) const {
  const TransposeTile turn = micro_kernels(best_isa()).transpose;
  const std::int64_t row = steps(piece.part).channel;
  const RowOffsets rows(row);
  each_tile(
      piece,
      [&](std::int64_t to, std::int64_t at, const Steps& by, std::int64_t) {
        unpack_taps(from + at, by, plain + to);
        return true;
      },
      [&](std::int64_t to, std::int64_t at, std::int64_t checked, std::int64_t others) {
        const float* tile = from + at;
        float* pairs = plain + to;
        const bool whole = checked * others == kLanes * kLanes;
        if (whole && checked_step_ == 1) return turn(tile, rows.at, kLanes, pairs, other_step_);
        if (whole && other_step_ == 1) return copy_rows(tile, row, pairs, checked_step_);
        for (std::int64_t c = 0; c < checked; ++c)
          for (std::int64_t k = 0; k < others; ++k)
            pairs[c * checked_step_ + k * other_step_] = tile[c * row + k];
      });
}

template <typename Use>
void WeightOrder::each_piece(int threads, const Use& use) const {
#pragma omp parallel for num_threads(threads) schedule(static) collapse(3)
  for (std::int64_t g = 0; g < groups_; ++g)
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (std::int64_t c = 0; c < channels_; c += kPackedChannels)
        use(WeightPiece{g, parts_[p], c, std::min(kPackedChannels, channels_ - c)});
}

void WeightOrder::pack(const float* plain, float* packed, int threads) const {
  each_piece(threads, [&](const WeightPiece& piece) { pack_piece(plain, piece, packed + offset(piece)); });
}

void WeightOrder::unpack(const float* packed, float* plain, int threads) const {
  each_piece(threads, [&](const WeightPiece& piece) { unpack_piece(packed + offset(piece), piece, plain); });
}

void fill_rows(float* plane, const float* value16, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i)
    std::memcpy(plane + i * rows.pixel_floats, value16, kLanes * sizeof(float));
}

void relu_rows(float* plane, const PlaneRows& rows) {
  for (std::int64_t i = rows.begin * rows.width; i < rows.end * rows.width; ++i) {
    float* pixel = plane + i * rows.pixel_floats;
    // NaN stays NaN: where there is one, the instruction gives its second operand.
#if defined(__SSE__)
    // GCC makes a branch per value of the loop below, and every other one was mispredicted: 15 % of a
    // training of vgg-small.
    for (int c = 0; c < kLanes; c += 4)
      _mm_storeu_ps(pixel + c, _mm_max_ps(_mm_setzero_ps(), _mm_loadu_ps(pixel + c)));
#else
    for (int c = 0; c < kLanes; ++c) pixel[c] = pixel[c] < 0.0F ? 0.0F : pixel[c];
#endif
  }
}

}  // namespace lacuna::kernels
