// Plain weights (OIHW or OHWI, as PyTorch keeps them) to and from the orders of the kernels, and the filling
// and ReLU of rows of results.
#pragma once

#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

// Channels that one thread packs at a time.
inline constexpr std::int64_t kPackedChannels = 64;

// The weights of one group as [checked channel][other channel][tap].
// forward, and weight_grad that checks activations: checked = input channels; the others: output channels.
class WeightAccess {
 public:
  // ohwi: plain weights are [out][kh][kw][in], otherwise [out][in][kh][kw].
  WeightAccess(const LayerShape& shape, bool checked_is_input, bool ohwi);
  WeightAccess(const LayerShape& shape, Operation op, bool ohwi)
      : WeightAccess(shape, op == Operation::kForward, ohwi) {}

  // to[c * row + k], c < channels, k < outs; zero where there is no such channel.
  void pack(const float* plain, std::int64_t group, std::int64_t channel, std::int64_t channels,
            std::int64_t out, std::int64_t outs, std::int64_t tap, float* to, std::int64_t row) const;
  // All taps: to[c * row + tap * outs + k]; `turned`: rotated by 180 degrees.
  void pack_taps(const float* plain, std::int64_t group, std::int64_t channel, std::int64_t channels,
                 std::int64_t out, std::int64_t outs, bool turned, float* to, std::int64_t row) const;
  // Their inverses.
  void unpack_taps(const float* from, std::int64_t row, std::int64_t group, std::int64_t channel,
                   std::int64_t channels, std::int64_t out, std::int64_t outs, bool turned,
                   float* plain) const;
  void unpack(const float* from, std::int64_t row, std::int64_t group, std::int64_t channel,
              std::int64_t channels, std::int64_t out, std::int64_t outs, std::int64_t tap,
              float* plain) const;

 private:
  // Plain weights whose neighbours in memory differ in one of the two channels: ohwi, and single taps. They
  // are moved 16 x 16 at a time, in a third of the time.
  bool in_tiles() const { return checked_stride_ == 1 || other_stride_ == 1; }
  // `plain`: of the group and the tap.
  void pack_tiles(const float* plain, std::int64_t channel, std::int64_t channels, std::int64_t out,
                  std::int64_t outs, float* to, std::int64_t row) const;
  void unpack_tiles(const float* from, std::int64_t row, std::int64_t channel, std::int64_t channels,
                    std::int64_t out, std::int64_t outs, float* plain) const;
  // All taps of 16 x 16 channels, as oihw has them: taps of a pair of channels lie together, and pairs of
  // input channels behind one another. False where a tile is not whole, or in an order that no kernel has.
  bool pack_taps_tile(const float* plain, std::int64_t channel, std::int64_t out, std::int64_t outs,
                      bool turned, float* to, std::int64_t row) const;
  bool unpack_taps_tile(const float* from, std::int64_t row, std::int64_t channel, std::int64_t out,
                        std::int64_t outs, bool turned, float* plain) const;
  bool whole_tile(std::int64_t channel, std::int64_t out) const {
    return taps_ <= kLanes && tap_stride_ == 1 && channel + kLanes <= checked_ && out + kLanes <= other_;
  }
  // Calls element(c, k) for c < channels, k < outs in the order in which plain weights lie: whole lines are
  // read and written, where the other order would fetch each of them many times.
  template <typename Element>
  void each(std::int64_t channels, std::int64_t outs, const Element& element) const;

  std::int64_t taps_, tap_stride_;
  std::int64_t group_floats_, checked_stride_, other_stride_, checked_, other_;
};

// Rows [begin, end) of one block of channels of an image.
struct PlaneRows {
  std::int64_t width;
  std::int64_t pixel_floats;  // from a pixel to the next
  std::int64_t begin, end;
};
void fill_rows(float* plane, const float* value16, const PlaneRows& rows);
void relu_rows(float* plane, const PlaneRows& rows);

}  // namespace lacuna::kernels
