// Plain weights (OIHW or OHWI, as PyTorch keeps them) to and from the orders of the kernels, and the filling
// and ReLU of rows of results.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/conv.hpp"
#include "kernels/sparse/microkernels.hpp"

namespace lacuna::kernels {

// Blocks of 16, split into parts of at most `most`, as even as possible.
struct Part {
  std::int64_t first;
  std::int64_t count;
};
std::vector<Part> split_blocks(std::int64_t blocks, std::int64_t most);

// Some checked channels and a part of the others.
struct WeightPiece {
  std::int64_t group;
  Part part;
  std::int64_t channel, channels;  // from a whole block on
};

// The order of packed weights: [group][part of the other channels][taps and checked channels][16 * blocks of
// the part], zero where there is no such channel. For forward, and weight_grad that checks activations, the
// checked channels are the inputs and the others the outputs.
class WeightOrder {
 public:
  enum class Taps {
    kInside,   // [channel][tap]
    kOutside,  // [tap][channel]
    kRows      // [block of 16 channels][kernel row][channel][tap of the row]
  };
  struct Layout {
    Taps taps = Taps::kInside;
    bool rows_turned = false, columns_turned = false;  // of the kernel: the last comes first
  };
  WeightOrder() = default;
  // ohwi: plain weights are [out][kh][kw][in], otherwise [out][in][kh][kw].
  WeightOrder(const LayerShape& shape, bool checked_is_input, bool ohwi, const Layout& layout,
              std::vector<Part> parts);

  const std::vector<Part>& parts() const { return parts_; }
  std::int64_t floats() const { return groups_ * group_floats(); }
  std::int64_t offset(const WeightPiece& piece) const {
    return piece.group * group_floats() + piece.part.first * channels_ * taps_ * kLanes +
           piece.channel / kLanes * steps(piece.part).block;
  }
  // kOutside: from a tap to the next.
  std::int64_t tap_floats(const Part& part) const { return channels_ * part.count * kLanes; }

  void pack(const float* plain, float* packed, int threads) const;
  void unpack(const float* packed, float* plain, int threads) const;
  void pack_piece(const float* plain, const WeightPiece& piece, float* to) const;
  void unpack_piece(const float* from, const WeightPiece& piece, float* plain) const;

 private:
  // Floats from a block of channels, a channel, a row of taps and a tap to the next in a part.
  struct Steps {
    std::int64_t block, channel, row, tap;
  };
  Steps steps(const Part& part) const;
  std::int64_t group_floats() const {
    return (parts_.back().first + parts_.back().count) * channels_ * taps_ * kLanes;
  }
  // The tap of plain weights that is at (row, column), and the other way round.
  std::int64_t plain_tap(std::int64_t row, std::int64_t column) const {
    return (layout_.rows_turned ? kernel_.h - 1 - row : row) * kernel_.w +
           (layout_.columns_turned ? kernel_.w - 1 - column : column);
  }
  // Finds the places in a piece of the taps of plain weights, one channel after another.
  void places(const Steps& by, int channels, std::ptrdiff_t* to) const;
  template <typename Use>
  void each_piece(int threads, const Use& use) const;
  template <typename AllTaps, typename OneTap>
  void each_tile(const WeightPiece& piece, const AllTaps& all, const OneTap& one) const;
  bool pack_taps(const float* src, const float* end, std::int64_t left, const Steps& by, float* to) const;
  void unpack_taps(const float* from, const Steps& by, float* dst) const;

  std::vector<Part> parts_;
  Layout layout_;
  Size2 kernel_;
  std::int64_t groups_ = 0, taps_ = 0, channels_ = 0;  // checked ones, in whole blocks
  // Strides and channels of plain weights.
  std::int64_t tap_step_ = 0, checked_step_ = 0, other_step_ = 0, checked_ = 0, other_ = 0;
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
